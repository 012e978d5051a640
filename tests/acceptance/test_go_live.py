"""The list for the day of going live: what it says of the app is so."""

import datetime as dt
import io
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import path, reverse

from payments_pages import testing
from payments_pages.choices import Door, Reason
from payments_pages.conf import conf
from payments_pages.confirmation import confirm_payment
from payments_pages.models import (
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.staff import approve, may_approve, read_attention, take_totals
from payments_pages.testing import let_time_pass, run_sweep
from payments_pages.views import health
from tests.support.goods.models import Good
from tests.support.guide_pages import GuidePage, parse_command
from tests.support.webhook_signing import HEADER, SECRET

PAGE = GuidePage("go-live.md")
TEXT = " ".join(PAGE.text.split())

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def live(configure: Any) -> Any:
    """Change the site to live mode, at the moment when a test calls it."""

    def change() -> None:
        configure(MODE="live")

    return change


def come(reference: str, page: PaymentPage) -> Fulfilment:
    confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
    return Fulfilment.objects.get(transaction__reference=reference)


def page_of(reference: str) -> str:
    token = Transaction.objects.get(reference=reference).token
    return Client().get(reverse("payments_pages:result", args=[token])).content.decode()


def test_each_command_of_the_page_is_real() -> None:
    lines = list(PAGE.manage_lines())
    assert len(lines) == 8
    for words in lines:
        parse_command(words)
    for name, options in re.findall(r"`(payments_pages_\w+)((?: --[\w-]+)*)`", PAGE.text):
        parse_command(
            [name, *([*options.split(), "x.csv"] if "--file" in options else options.split())]
        )


# Before


def test_test_data_stays_is_marked_and_waits_untouched(
    sandbox: Sandbox, tea_box: PaymentPage, live: Any
) -> None:
    done = testing.pay(sandbox, tea_box).reference
    sandbox.faults.add(operation="verify", kind="drop", times=4)
    due = testing.pay(sandbox, tea_box).reference
    calls = len(sandbox.requests)
    live()
    report = run_sweep(after=3600)
    assert (report.taken, report.other_mode) == (0, 1)
    assert len(sandbox.requests) == calls
    assert set(Verification.objects.values_list("reference", flat=True)) == {done, due}
    assert "Test payment – no money moved" in page_of(done)
    assert read_attention().other_mode_verifications == 1
    staff = Client()
    staff.force_login(superuser())
    assert "test" in staff.get("/admin/payments_pages/transaction/").content.decode()


def superuser() -> Any:
    from django.contrib.auth.models import User

    return User.objects.create_superuser("admin", "admin@shop.example", "x")


def test_a_test_page_sells_nothing_in_live_mode_and_live_pages_are_rows_of_their_own(
    sandbox: Sandbox, tea_box: PaymentPage, live: Any
) -> None:
    live()
    held = come(sandbox.pay("tea-box", domain="live"), tea_box)
    assert (held.state, held.reason) == ("held", Reason.PAGE_NOT_ON_SALE)
    assert held.get_reason_display() in TEXT
    with testing.sandboxed(secret_key="sk_live_pages"):
        made = testing.make_page(name="Tea box", slug="tea-box")
        assert (made.domain, made.pk == tea_box.pk) == ("live", False)
    assert sorted(PaymentPage.objects.values_list("domain", flat=True)) == ["live", "test"]


def test_test_money_is_held_and_nobody_can_approve_it(
    sandbox: Sandbox, tea_box: PaymentPage, live: Any
) -> None:
    live()
    PaymentPage.objects.update(domain="live")
    held = come(sandbox.pay("tea-box", domain="test"), tea_box)
    assert (held.state, held.reason) == ("held", Reason.MODE_MISMATCH)
    assert held.get_reason_display() in TEXT
    assert not may_approve(held.transaction)
    assert not approve(held.transaction, actor="admin", note="all the same")
    assert Good.objects.count() == 0


def test_totals_of_live_mode_do_not_count_test_money(
    sandbox: Sandbox, tea_box: PaymentPage, live: Any
) -> None:
    testing.pay(sandbox, tea_box)
    assert counted() == 1
    live()
    assert counted() == 0


def counted() -> int:
    return sum(currency.last(7).count for currency in take_totals(conf.mode))


# Settings, the service, staff


def ids() -> set[str]:
    return {str(message.id) for message in run_checks(include_deployment_checks=True)}


def test_the_checks_warn_of_a_test_key_and_of_a_sandbox_with_a_live_one(
    sandbox: Sandbox, configure: Any
) -> None:
    assert "payments_pages.W002" in ids()
    configure(SECRET_KEY="sk_live_1", SERVICE="sandbox", BASE_URL=None, PAY_URL=None)
    assert "payments_pages.W001" in ids()
    assert "payments_pages.W002" not in ids()
    configure(NOTIFY=["staff@shop.example"])
    assert {"payments_pages.W025", "payments_pages.W026"} & ids()


def test_an_event_about_a_payment_is_taken_at_the_address_of_the_dashboard(
    sandbox: Sandbox, tea_box: PaymentPage, open_webhook: None, live_server: Any
) -> None:
    reference = testing.pay(sandbox, tea_box).reference
    (words,) = [words for words in PAGE.manage_lines() if words[0] == "payments_pages_webhook"]
    assert words[1:3] == ["REFERENCE", "--url"]
    out = io.StringIO()
    url = words[3].replace("https://shop.example", live_server.url)
    call_command(words[0], reference, "--url", url, stdout=out)
    assert f"{url} answered 200" in out.getvalue()


def test_an_event_about_nothing_is_asked_about_for_three_days(
    sandbox: Sandbox, open_webhook: None
) -> None:
    testing.send_webhook("GO-LIVE-1")
    for _half_day in range(5):
        run_sweep(after=12 * 3600)
    before = sandbox.verify_calls("GO-LIVE-1")
    run_sweep(after=60)
    assert sandbox.verify_calls("GO-LIVE-1") == before + 1
    assert read_attention().contradicted == 1


def test_a_live_webhook_is_refused_with_the_test_secret(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))
    reference = sandbox.pay("tea-box")
    assert testing.send_webhook(reference, signature="0" * 64).status_code == 401


def test_the_groups_of_the_page_are_those_that_the_command_makes() -> None:
    call_command("payments_pages_groups", stdout=io.StringIO())
    made = {
        name.removeprefix("Payments: ").lower()
        for name in Group.objects.values_list("name", flat=True)
    }
    section = PAGE.section("## 3. Staff")
    assert set(re.findall(r"\*(\w+)\*", section.split("who may do what")[0])) == made


def test_a_test_page_is_copied_into_a_new_one_in_live_mode(
    sandbox: Sandbox, tea_box: PaymentPage, live: Any
) -> None:
    live()
    staff = Client()
    staff.force_login(superuser())
    form = staff.get(f"/admin/payments_pages/paymentpage/{tea_box.pk}/change/").content.decode()
    assert "New page like this one" in form
    (link,) = re.findall(r'href="([^"]+)"[^>]*>New page like this one', form)
    assert 'value="Tea box"' in staff.get(link.replace("&amp;", "&")).content.decode()


# The alarm


urlpatterns = [path("health/", health)]


def monitored() -> tuple[int, int, bool]:
    """The exit code of --age, the status of the health view, and whether the admin says so."""
    try:
        call_command("payments_pages_sweep", "--age", stdout=io.StringIO())
        code = 0
    except CommandError as error:
        code = error.returncode
    status = Client().get("/health/").status_code
    return code, status, read_attention().overdue is not None


@pytest.mark.urls(__name__)
def test_the_alarm_goes_off_without_a_sweep_and_ends_with_one(sandbox: Sandbox) -> None:
    assert "`OVERDUE` (five minutes)" in TEXT
    assert conf.overdue == 300
    ExpectedPayment.objects.expect(amount=100, currency="ILS")
    let_time_pass(120 + 240)
    assert monitored() == (0, 200, False)
    let_time_pass(120)
    assert monitored() == (1, 503, True)
    run_sweep()
    assert monitored() == (0, 200, False)


# The payment and its return


def test_a_payment_is_given_once_however_often_the_payer_reloads(
    sandbox: Sandbox, tea_box: PaymentPage, open_webhook: None
) -> None:
    visit = testing.pay(sandbox, tea_box)
    testing.send_webhook(visit.reference)
    for _time in range(3):
        testing.come_back(visit.reference, page=tea_box)
        assert "Payment received" in page_of(visit.reference)
    testing.assert_delivered_once(visit.reference, Good.objects.all())
    staff = Client()
    staff.force_login(superuser())
    row = Transaction.objects.get()
    shown = staff.get(f"/admin/payments_pages/transaction/{row.pk}/change/").content.decode()
    for said in ("payer came back", "message of the service"):
        assert said in shown
        assert said in TEXT


@pytest.mark.parametrize("by_amount", [True, False])
def test_a_closed_tab_is_delivered_by_the_webhook_or_held_as_the_setting_says(
    by_amount: bool, sandbox: Sandbox, tea_box: PaymentPage, open_webhook: None, configure: Any
) -> None:
    configure(ATTRIBUTION=("expected", "metadata", "callback", *(("amount",) if by_amount else ())))
    testing.send_webhook(sandbox.pay("tea-box"))
    row = Fulfilment.objects.get()
    assert (row.state, row.reason) == (("delivered", "") if by_amount else ("held", "unattributed"))
    assert str(Reason.UNATTRIBUTED.label) in TEXT


def test_a_whole_refund_is_told_to_staff_and_payer_and_takes_nothing_back(
    sandbox: Sandbox, tea_box: PaymentPage, open_webhook: None
) -> None:
    reference = testing.pay(sandbox, tea_box).reference
    assert counted() == 1
    sandbox.set_transaction(reference, status="reversed")
    testing.send_webhook(reference, "refund.processed")
    assert Transaction.objects.get().status == "reversed"
    assert Fulfilment.objects.get().state == "delivered"
    assert read_attention().money_back == 1
    assert "This payment was returned" in page_of(reference)
    assert counted() == 0
    assert Good.objects.count() == 1


# The way back


def test_with_the_pages_off_what_was_paid_before_is_delivered(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    from payments_pages.pages import set_active

    reference = sandbox.pay("tea-box", paid_at=moment(-60))
    set_active(tea_box, active=False)
    assert come(reference, tea_box).state == "delivered"


def moment(seconds: int) -> str:
    return (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)).isoformat()


def test_live_rows_wait_while_the_site_is_back_in_test_mode(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(MODE="live", HANDLER="tests.support.goods.handlers.fail_always")
    PaymentPage.objects.update(domain="live")
    assert come(sandbox.pay("tea-box", domain="live"), tea_box).state == "failed"
    configure(MODE="test", HANDLER="tests.support.goods.handlers.deliver")
    assert run_sweep(after=3600).taken == 0
    assert read_attention().other_mode_fulfilments == 1
    configure(MODE="live")
    run_sweep()
    assert Fulfilment.objects.get().state == "delivered"
