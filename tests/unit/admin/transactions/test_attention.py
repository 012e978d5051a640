"""What needs attention is the first thing on the app's index page."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.db import OperationalError, connection
from django.db import transaction as db_transaction
from django.db.models.signals import post_save
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from payments_pages.admin import TransactionAdmin
from payments_pages.admin.index import Line, format_age
from payments_pages.choices import Door, FulfilmentState, Reason
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import (
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.staff import Attention, attention, read_attention
from payments_pages.testing import let_time_pass
from tests.unit.admin.transactions.conftest import SignIn

pytestmark = pytest.mark.django_db(transaction=True)

INDEX = "/admin/payments_pages/"


def lines(client: Client) -> list[Line]:
    response = client.get(INDEX)
    assert response.status_code == 200
    found: list[Line] = response.context["lines"]
    shown = response.content.decode()
    assert shown.index("Needs attention") < shown.index("app-payments_pages module")
    return found


def found_by(client: Client, url: str) -> list[str]:
    return [row.reference for row in client.get(url).context["cl"].result_list]


def test_nothing_is_said_so(staff: Client, tea_box: PaymentPage, sandbox: Sandbox) -> None:
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    assert read_attention() == Attention()
    assert lines(staff) == []
    assert "Nothing needs attention." in staff.get(INDEX).content.decode()


def test_what_is_held_leads_to_what_is_held(staff: Client, held: Transaction) -> None:
    (line,) = lines(staff)
    assert line.text == "1 payment is held: it waits for a decision."
    assert found_by(staff, line.url) == [held.reference]


def test_deliveries_that_were_given_up_lead_to_them(staff: Client, spent: Transaction) -> None:
    (line,) = lines(staff)
    assert line.text == "1 delivery has failed for good or too often."
    assert found_by(staff, line.url) == [spent.reference]


def test_deliveries_that_have_outrun_their_lease_lead_to_them(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """One whose lease still holds is not among them."""
    for reference in ("IN-TIME", "HANGS"):
        sandbox.pay("tea-box", reference=reference)
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    begun = {"state": FulfilmentState.DELIVERING, "delivered_at": None}
    late, soon = (timezone.now() + dt.timedelta(seconds=seconds) for seconds in (-30, 30))
    rows = Fulfilment.objects.order_by("pk")
    rows.filter(transaction__reference="IN-TIME").update(next_at=soon, **begun)
    assert read_attention() == Attention()
    rows.filter(transaction__reference="HANGS").update(next_at=late, **begun)
    (line,) = lines(staff)
    assert line.text == ("1 delivery has run for longer than its lease: its handler may hang.")
    assert "HANGS" in found_by(staff, line.url)


def test_deliveries_that_fail_lead_to_them(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    (line,) = lines(staff)
    assert line.text == "1 delivery fails; it will be tried again."
    assert found_by(staff, line.url) == [reference]


@pytest.mark.parametrize("door", [Door.ADMIN, Door.CODE, Door.COMMAND])
def test_references_that_were_said_to_be_paid_and_are_unknown_lead_to_them(
    staff: Client, sandbox: Sandbox, door: Door
) -> None:
    confirm_payment("PPG-404", door=door, vouched=True)
    confirm_payment("PPG-405", door=Door.CALLBACK)
    (line,) = lines(staff)
    assert line.text == "1 reference you asked about is not known to the service."
    assert found_by(staff, line.url) == ["PPG-404"]


def test_a_mistyped_reference_is_dismissed(staff: Client, sandbox: Sandbox) -> None:
    by_hand = f"{INDEX}transaction/verify/"
    told = staff.post(by_hand, {"reference": "PPG-4O4"}).content.decode()
    assert "It was a typing error: stop asking" in told
    row = Verification.objects.get()
    shown = staff.get(f"{INDEX}verification/{row.pk}/change/").content.decode()
    assert "It was a typing error: stop asking" in shown
    stop = f"{INDEX}verification/{row.pk}/stop/"
    assert f'action="{stop}"' in told
    assert f'action="{stop}"' in shown
    assert staff.get(stop).status_code == 405
    assert read_attention().unknown == 1
    assert "no longer asked about" in staff.post(stop, follow=True).content.decode()
    assert read_attention() == Attention()
    assert "stop asking" not in staff.get(f"{INDEX}verification/{row.pk}/change/").content.decode()


def test_answers_that_cannot_be_read_for_long_lead_to_them(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """However they come about: too deep, too long, or a proxy's page (S14)."""
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="raw", body=b"[" * 100_000)
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
    confirm_payment("PPG-NOBODYS", door=Door.CALLBACK)
    assert read_attention() == Attention(), "not at once: it may be over in a minute"
    let_time_pass(3600)
    confirm_payment(reference, door=Door.SWEEP)
    confirm_payment("PPG-NOBODYS", door=Door.SWEEP)
    (line,) = [line for line in lines(staff) if "cannot be read" in line.text]
    assert line.text.startswith("The service’s answers about 1 reference cannot be read")
    assert found_by(staff, line.url) == [reference]
    sandbox.faults.clear()
    let_time_pass(3600)
    confirm_payment(reference, door=Door.SWEEP)
    assert read_attention().unreadable == 0


def refuse(**sent: Any) -> None:
    raise RuntimeError("a receiver of the merchant's")


@pytest.fixture
def troubled(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> dict[str, str]:
    """One reference of each kind that the asking itself cannot end, by what the line says."""
    configure(DEADLINE=5)
    paid = {"door": Door.WEBHOOK, "signed_success": True}
    for reference, status in (
        ("OPEN", "pending"),
        ("FAILED", "failed"),
        ("CONTRADICTED", "failed"),
    ):
        sandbox.pay("tea-box", reference=reference, status=status)
    for reference in ("OPEN", "FAILED"):
        confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
    let_time_pass(31 * 24 * 3600)
    for reference in ("OPEN", "FAILED"):
        confirm_payment(reference, door=Door.SWEEP, refresh=True)
    confirm_payment("CONTRADICTED", **paid)
    let_time_pass(601)
    sandbox.pay("tea-box", reference="UNRECORDED")
    post_save.connect(refuse, sender=Transaction)
    confirm_payment("UNRECORDED", door=Door.WEBHOOK, vouched=True)
    post_save.disconnect(refuse, sender=Transaction)
    return {
        "A signed message says that 1 payment is paid": "CONTRADICTED",
        "The answer about 1 reference could not be saved": "UNRECORDED",
        "The service has called 1 payment open for more than 30 days": "OPEN",
        "1 reference that was said to be paid is no longer asked about": "FAILED",
    }


def test_what_the_asking_itself_cannot_end_leads_to_it(
    staff: Client, troubled: dict[str, str]
) -> None:
    told = {line.text: line.url for line in lines(staff)}
    for beginning, reference in troubled.items():
        (url,) = (url for text, url in told.items() if text.startswith(beginning))
        assert found_by(staff, url) == [reference]


def test_an_order_that_nobody_paid_is_no_trouble(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    ExpectedPayment.objects.expect(amount=100, currency="ILS")
    let_time_pass(200)
    sweep_due()
    assert Verification.objects.get().state == "unknown"
    assert lines(staff) == []
    for _sweep in range(12):
        let_time_pass(9 * 3600)
        sweep_due()
    assert Verification.objects.get().state == "lapsed"
    assert lines(staff) == []


@pytest.mark.parametrize("door", ["confirm", "callback", "verify"])
def test_an_order_that_somebody_said_to_be_paid_is(
    staff: Client, client: Client, sandbox: Sandbox, door: str
) -> None:
    """The popup says that it is paid, or the payer comes back, or staff ask."""
    expected = ExpectedPayment.objects.expect(amount=100, currency="ILS")
    let_time_pass(200)
    sweep_due()
    let_time_pass(10)
    sent: dict[str, Any] = {"reference": expected.reference}
    confirm = reverse("payments_pages:confirm")
    client.post(confirm, sent, content_type="application/json")
    assert lines(staff) == [], "a popup asks after its cancel, too"
    let_time_pass(10)
    if door == "confirm":
        client.post(confirm, sent | {"paid": True}, content_type="application/json")
    elif door == "callback":
        client.get(reverse("payments_pages:callback"), sent)
    else:
        staff.post(f"{INDEX}transaction/verify/", sent)
    (line,) = lines(staff)
    assert found_by(staff, line.url) == [expected.reference]


def test_the_first_page_after_signing_in_shows_it_above_the_apps(
    staff: Client, viewer: Client, sign_in: SignIn, held: Transaction
) -> None:
    for client in (staff, viewer):
        shown = client.get("/admin/").content.decode()
        assert "Payments: needs attention" in shown
        assert shown.index("1 payment is held") < shown.index("app-payments_pages module")
    assert "needs attention" not in sign_in("view_paymentpage").get("/admin/").content.decode()


def test_a_site_with_a_first_page_of_its_own_keeps_it() -> None:
    class Office(AdminSite):
        index_template = "office/index.html"

    for site, template in (
        (Office(), "office/index.html"),
        (AdminSite(), "admin/payments_pages/site_index.html"),
    ):
        site.register(Transaction, TransactionAdmin)
        assert site.index_template == template


def test_the_list_of_payments_leads_to_those_that_wait(
    staff: Client, held: Transaction, spent: Transaction
) -> None:
    at = f"{INDEX}transaction/"
    shown = staff.get(at).content.decode()
    assert f'<a href="{at}?held=decision">1 payment is held' in shown
    assert f'<a href="{at}?held=delivery">1 delivery has failed' in shown
    assert "1 payment is held" not in staff.get(at, {"held": "decision"}).content.decode()
    Fulfilment.objects.update(state=FulfilmentState.DELIVERED)
    assert "pp-queues" not in staff.get(at).content.decode()
    empty = staff.get(at, {"held": "decision"}).content.decode()
    assert "Nothing waits here: no payment of this kind is held." in empty


def test_a_refused_key_is_news_for_an_hour_and_none_once_it_works(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=401)
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    (line,) = lines(staff)
    assert line.kind == "error"
    assert "The service refused our key" in line.text
    Verification.objects.update(asked_at=timezone.now() - dt.timedelta(hours=2))
    assert read_attention().key_refused_at is None
    sandbox.faults.clear()
    let_time_pass(10)
    confirm_payment(reference, door=Door.CALLBACK)
    assert read_attention() == Attention()


def test_a_service_that_keeps_failing_is_told_as_this_processes_pause(
    staff: Client, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=500)
    for number in range(6):
        confirm_payment(f"PPG-{number}", door=Door.WEBHOOK, vouched=True)
    assert 0 < read_attention().pause <= 10
    assert any("this process sends no calls" in line.text for line in lines(staff))


def test_due_work_that_nobody_takes_is_told_by_its_age(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(3 * 3600)
    (line,) = lines(staff)
    assert line.text == "The oldest due work has waited for 2 hours: is the sweep running?"


def test_what_the_other_mode_left_is_told_as_such_and_leads_to_it(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    asked = sandbox.pay("tea-box", status="pending")
    failed = sandbox.pay("tea-box")
    for reference in (asked, failed):
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(3 * 3600)
    configure(MODE="live")
    deliveries, asks = lines(staff)
    assert deliveries.text.startswith(
        "1 delivery belongs to the other mode (test/live). It waits until MODE"
    )
    assert failed in found_by(staff, deliveries.url)
    assert asks.text.startswith(
        "1 reference belongs to the other mode (test/live). It is not checked until MODE"
    )
    assert found_by(staff, asks.url) == [asked]
    paid = Transaction.objects.get(reference=failed)
    shown = staff.get(f"{INDEX}transaction/{paid.pk}/change/")
    assert shown.context["explanation"].heading == "Paid, left in the other mode"
    assert [str(button.label) for button in shown.context["possible"]] == [
        "Ask the service again", "Reject", "Add a note",
    ]  # fmt: skip
    configure(MODE="test", HANDLER="tests.support.goods.handlers.deliver")
    sandbox.set_transaction(asked, status="success")
    sweep_due()
    assert read_attention() == Attention()


@pytest.mark.parametrize(
    ("hours", "age"), [(1, "59 minutes"), (1.02, "61 minutes"), (30, "29 hours"), (60, "2 days")]
)
def test_ages_are_said_as_people_would(hours: float, age: str) -> None:
    assert format_age(dt.timedelta(hours=hours) - dt.timedelta(seconds=1)) == age


def test_counts_stop_at_a_hundred(staff: Client, held: Transaction) -> None:
    Transaction.objects.bulk_create(
        Transaction(
            reference=f"R{n}",
            reference_key=f"key{n}",
            status="success",
            metadata={},
            verified_at=timezone.now(),
        )
        for n in range(120)
    )
    Fulfilment.objects.bulk_create(
        Fulfilment(
            transaction=row,
            reference_key=row.reference_key,
            state=FulfilmentState.HELD,
            reason=Reason.UNATTRIBUTED,
        )
        for row in Transaction.objects.filter(reference_key__startswith="key")
    )
    assert read_attention().held == attention.ATTENTION_CAP + 1
    assert lines(staff)[0].text == "100+ payments are held: they wait for a decision."


def test_a_missing_setting_is_something_to_see_to_and_no_error(
    staff: Client, held: Transaction, configure: Any
) -> None:
    configure(SECRET_KEY=None)
    texts = [line.text for line in lines(staff)]
    assert any("SECRET_KEY" in text for text in texts)
    assert any("held" in text for text in texts), "the rest is told all the same"


def test_a_database_that_cannot_be_read_is_something_to_see_to_and_no_error(
    staff: Client, held: Transaction
) -> None:
    def refuse(execute: Any, sql: str, *arguments: Any) -> Any:
        if "payments_pages_" in sql:
            raise OperationalError("database is locked")
        return execute(sql, *arguments)

    with connection.execute_wrapper(refuse):
        told = lines(staff)
    assert [line.text for line in told] == [
        "The database could not be read just now: what is below may be incomplete."
    ]


def test_a_failed_read_leaves_the_requests_own_transaction_usable(held: Transaction) -> None:
    def spoil(execute: Any, sql: str, *arguments: Any) -> Any:
        spoilt = sql.replace("payments_pages_verification", "no_such_table")
        return execute(spoilt, *arguments)

    with db_transaction.atomic():
        with connection.execute_wrapper(spoil):
            found = read_attention()
        assert (found.unread, found.held) == (True, 1)
        assert Transaction.objects.count() == 1


def test_only_who_may_see_payments_is_told(sign_in: SignIn, held: Transaction) -> None:
    shown = sign_in("view_paymentpage").get(INDEX).content.decode()
    assert "Needs attention" not in shown
    assert "held" not in shown
    assert lines(sign_in("view_transaction"))[0].url


def test_it_costs_few_queries_however_much_there_is(
    staff: Client, held: Transaction, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(17):
        read_attention()
