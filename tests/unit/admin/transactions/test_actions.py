"""Staff act on one payment: a page that says what will happen, then a POST that does it."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from payments_pages.admin.transactions.actions import ACTIONS
from payments_pages.choices import Attributed, Door, FulfilmentState, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment, mirror_another
from tests.support.goods.models import Good
from tests.unit.admin.transactions.conftest import SignIn, busy, said, state_of

pytestmark = pytest.mark.django_db

NAMES = [action.name for action in ACTIONS]
FORMS = {
    "approve": {"note": "agreed"},
    "reject": {"note": "refunded"},
    "reopen": {"note": "my mistake"},
    "note": {"note": "called"},
}


def address(name: str, transaction: Transaction) -> str:
    return reverse(f"admin:payments_pages_transaction_{name}", args=[transaction.pk])


def seen_in(response: Any) -> str:
    """What the page of an action remembers of the state that staff saw."""
    found = re.search(r'name="seen" value="([^"]*)"', response.content.decode())
    assert found is not None
    return found[1]


def act(client: Client, name: str, transaction: Transaction, **data: str) -> Any:
    """Open an action's page, fill it in and send it, as staff do."""
    url = address(name, transaction)
    asked = client.get(url)
    assert asked.status_code == 200
    return client.post(url, {"seen": seen_in(asked), **data}, follow=True)


def make_possible(name: str, transaction: Transaction) -> None:
    if name == "retry":
        Fulfilment.objects.update(reason=Reason.ATTEMPTS_SPENT)
    if name == "seen":
        Fulfilment.objects.update(
            state=FulfilmentState.DELIVERED,
            reason="",
            money_back_at=timezone.now(),
            money_back_unseen=True,
        )
    if name == "reopen":
        Fulfilment.objects.update(state=FulfilmentState.REJECTED)


@pytest.mark.parametrize("name", NAMES)
def test_looking_at_an_action_changes_nothing_and_says_what_it_would_do(
    staff: Client, held: Transaction, name: str
) -> None:
    make_possible(name, held)
    events, before = Event.objects.count(), state_of(held)
    response = staff.get(address(name, held))
    shown = response.content.decode()
    action = next(action for action in ACTIONS if action.name == name)
    assert str(action.consequence) in shown.replace("&#x27;", "'")
    assert held.reference in shown
    assert "99.99\u00a0ILS" in shown
    assert f'href="{address("change", held)}"' in shown, "there is a way back"
    assert (state_of(held), Event.objects.count()) == (before, events)


@pytest.mark.parametrize("name", NAMES)
def test_each_action_needs_its_own_permission(
    sign_in: SignIn, held: Transaction, name: str
) -> None:
    make_possible(name, held)
    own = next(action.permission for action in ACTIONS if action.name == name)
    codename = own.removeprefix("payments_pages.")
    others = {
        action.permission.removeprefix("payments_pages.")
        for action in ACTIONS
        if action.permission != own
    }
    url, before = address(name, held), state_of(held)
    for client in (sign_in("view_transaction"), sign_in("view_transaction", *others)):
        detail = client.get(address("change", held)).content.decode()
        assert url not in detail
        assert client.get(url).status_code == 403
        data = {"seen": "", "page": "tea-box", **FORMS.get(name, {})}
        assert client.post(url, data).status_code == 403
    assert sign_in(codename).get(url).status_code == 403, "and to see payments at all"
    assert state_of(held) == before
    allowed = sign_in("view_transaction", codename)
    assert url in allowed.get(address("change", held)).content.decode()
    assert allowed.get(url).status_code == 200


@pytest.mark.parametrize("name", NAMES)
def test_nobody_acts_without_a_token_against_forged_requests(held: Transaction, name: str) -> None:
    make_possible(name, held)
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    before, events = state_of(held), Event.objects.count()
    assert client.post(address(name, held), {"note": "x", "page": "tea-box"}).status_code == 403
    assert (state_of(held), Event.objects.count()) == (before, events)


def test_a_person_who_is_not_signed_in_is_asked_to(held: Transaction) -> None:
    for name in NAMES:
        answer = Client().post(address(name, held), {})
        assert answer.status_code == 302
        assert "/login/" in answer.headers["Location"]


def test_approving_asks_for_a_reason_and_then_delivers_once(
    staff: Client, held: Transaction
) -> None:
    blank = act(staff, "approve", held, note=" ")
    assert "This field is required." in blank.content.decode()
    assert state_of(held) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    old = seen_in(staff.get(address("approve", held)))
    assert "delivered now" in said(act(staff, "approve", held, note="agreed by phone"))
    row = Fulfilment.objects.get()
    assert (row.state, row.decided_by, row.note) == ("delivered", "staff", "agreed by phone")
    again = staff.post(address("approve", held), {"seen": old, "note": "again"}, follow=True)
    assert "It has changed since you looked" in said(again)
    assert Good.objects.count() == 1
    event = Event.objects.get(kind="approved")
    assert (event.actor, event.detail, event.door) == ("staff", "agreed by phone", "admin")
    entry = LogEntry.objects.get(object_id=str(held.pk))
    assert entry.get_change_message() == "Changed delivery (approved)."
    with override("he"):
        assert "אספקה (אושרה)" in entry.get_change_message()


@pytest.mark.parametrize("name", ["approve", "verify"])
def test_actions_stay_out_of_the_requests_own_transaction(
    staff: Client, held: Transaction, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    done = said(act(staff, name, held, **FORMS.get(name, {})))
    assert "delivered now" in done if name == "approve" else "held for staff" in done
    by_hand = reverse("admin:payments_pages_transaction_verify_reference")
    answer = staff.post(by_hand, {"reference": held.reference})
    assert "pp-outcome" in answer.content.decode()


def test_a_reason_may_be_two_thousand_characters_and_no_more(
    staff: Client, held: Transaction
) -> None:
    assert "at most 2000" in act(staff, "approve", held, note="x" * 2001).content.decode()
    assert state_of(held)[0] == FulfilmentState.HELD
    act(staff, "approve", held, note="x" * 2000)
    assert state_of(held)[0] == FulfilmentState.DELIVERED


def test_what_has_moved_on_since_staff_looked_is_left_alone(
    staff: Client, held: Transaction, sandbox: Sandbox
) -> None:
    old = seen_in(staff.get(address("reject", held)))
    sandbox.set_transaction(held.reference, amount=10000)
    let_time_pass(10)
    confirm_payment(held.reference, door=Door.ADMIN, refresh=True)
    assert state_of(held)[0] == FulfilmentState.DELIVERED
    late = staff.post(address("reject", held), {"seen": old, "note": "too little"}, follow=True)
    assert "It has changed since you looked. Nothing was done." in said(late)
    assert state_of(held)[0] == FulfilmentState.DELIVERED
    assert not Event.objects.filter(kind="rejected").exists()


def test_staff_are_told_that_a_payment_is_being_delivered_right_now(
    staff: Client, held: Transaction
) -> None:
    """Nothing is done about it meanwhile."""
    Fulfilment.objects.update(state=FulfilmentState.DELIVERING, reason="")
    for name in ("approve", "reject", "retry", "reopen"):
        answer = staff.post(address(name, held), FORMS.get(name, {}), follow=True)
        assert "It has changed since you looked" in answer.content.decode()
        answer = staff.get(address(name, held), follow=True)
        assert "It is being delivered right now." in answer.content.decode()
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERING


@pytest.mark.parametrize("name", ["approve", "attribute", "retry", "reject", "reopen", "seen"])
def test_what_cannot_be_done_in_a_state_is_not_offered_and_not_done(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, name: str
) -> None:
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    paid = Transaction.objects.get()
    assert address(name, paid) not in staff.get(address("change", paid)).content.decode()
    for answer in (
        staff.get(address(name, paid), follow=True),
        staff.post(address(name, paid), {"note": "x", "page": "tea-box"}, follow=True),
    ):
        assert answer.redirect_chain == [(address("change", paid), 302)]
    assert Good.objects.count() == 1
    assert state_of(paid)[0] == FulfilmentState.DELIVERED


def test_rejecting_is_final_and_delivers_nothing(
    staff: Client, held: Transaction, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    assert "rejected" in said(act(staff, "reject", held, note="refunded"))
    assert Fulfilment.objects.get().decided_by == "staff"
    calls = sandbox.verify_calls(held.reference)
    confirm_payment(held.reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert sandbox.verify_calls(held.reference) == calls
    assert state_of(held)[0] == FulfilmentState.REJECTED
    assert not Good.objects.exists()


def test_d28_a_rejection_is_taken_back_with_a_reason_and_on_record(
    staff: Client, held: Transaction
) -> None:
    assert address("reopen", held) not in staff.get(address("change", held)).content.decode()
    act(staff, "reject", held, note="wrong row")
    shown = staff.get(address("change", held)).content.decode()
    assert "If it was a mistake, take the rejection back." in shown
    assert act(staff, "reopen", held).context["form"].errors["note"], "it needs a reason"
    assert state_of(held)[0] == FulfilmentState.REJECTED
    assert "held again" in said(act(staff, "reopen", held, note="my mistake"))
    assert state_of(held) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert Event.objects.get(kind="reopened").actor == "staff"
    assert LogEntry.objects.filter(change_message__contains="taken back").count() == 1
    late = staff.post(address("reopen", held), {"seen": "x", "note": "again"}, follow=True)
    assert "It has changed since you looked" in said(late)


def test_a_delivery_that_failed_too_often_is_tried_again(staff: Client, spent: Transaction) -> None:
    assert "delivered now" in said(act(staff, "retry", spent))
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == (FulfilmentState.DELIVERED, 2)
    assert Event.objects.filter(kind="retried", actor="staff").count() == 1


def test_asking_again_finds_a_late_success(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.set_transaction(reference, status="success")
    let_time_pass(10)
    assert "delivered now" in said(act(staff, "verify", Transaction.objects.get()))
    assert Good.objects.count() == 1
    assert Event.objects.filter(kind="verified", actor="staff").count() == 1


def test_asking_while_the_service_is_down_says_so_and_changes_nothing(
    staff: Client, held: Transaction, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=503)
    let_time_pass(10)
    assert "paid; held for staff" in said(act(staff, "verify", held))
    assert state_of(held) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)


def test_a_setting_that_is_missing_is_said_not_raised(
    staff: Client, held: Transaction, configure: Any
) -> None:
    url = address("approve", held)
    seen = seen_in(staff.get(url))
    configure(HANDLER=None)
    shown = staff.post(url, {"seen": seen, "note": "agreed"}, follow=True)
    assert shown.status_code == 200
    assert "HANDLER" in shown.content.decode()
    assert not Good.objects.exists()


def test_a_database_that_is_busy_is_said_and_nothing_is_done(
    staff: Client, held: Transaction
) -> None:
    url = address("approve", held)
    data = {"seen": seen_in(staff.get(url)), "note": "agreed"}
    with busy("UPDATE payments_pages_fulfilment"):
        assert "The database is busy" in said(staff.post(url, data, follow=True))
    assert state_of(held)[0] == FulfilmentState.HELD
    assert "delivered now" in said(staff.post(url, data, follow=True))


def test_a_payment_that_there_is_not_leads_back(staff: Client) -> None:
    for name in NAMES:
        url = reverse(f"admin:payments_pages_transaction_{name}", args=[4711])
        assert staff.get(url).headers["Location"] == "/admin/"


def test_a_note_is_kept_in_the_timeline_and_changes_nothing_else(
    staff: Client, held: Transaction
) -> None:
    before = state_of(held)
    act(staff, "note", held, note="قال إنه سيدفع الباقي غدا\nSecond line <b>x</b>")
    event = Event.objects.get(kind="noted")
    assert (event.actor, event.door) == ("staff", "admin")
    shown = staff.get(address("change", held)).content.decode()
    assert "قال إنه سيدفع الباقي غدا" in shown
    assert "<b>x</b>" not in shown
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert state_of(held) == before


# Attribute to a page


@pytest.mark.parametrize(
    "typed", ["tea-box", "{pay_url}/tea-box", "{pay_url}/tea-box/", "{remote_id}", "Tea box"]
)
def test_a_payment_attributed_to_a_page_that_it_fits_is_delivered_once(
    staff: Client, pageless: Transaction, tea_box: PaymentPage, sandbox: Sandbox, typed: str
) -> None:
    text = typed.format(pay_url=sandbox.pay_url, remote_id=tea_box.remote_id)
    assert "delivered now" in said(act(staff, "attribute", pageless, page=text, note="by mail"))
    pageless.refresh_from_db()
    assert (pageless.page, pageless.attributed_by) == (tea_box, Attributed.STAFF)
    assert Good.objects.count() == 1
    event = Event.objects.get(kind="attributed")
    assert (event.actor, event.detail) == ("staff", "tea-box: by mail")
    assert "said by staff" in staff.get(address("change", pageless)).content.decode()


def test_the_word_of_staff_does_not_make_the_amount_enough(
    staff: Client, pageless: Transaction, sandbox: Sandbox
) -> None:
    dear = mirror_another(sandbox, slug="dear", amount=100_000)
    assert "held" in said(act(staff, "attribute", pageless, page="dear"))
    pageless.refresh_from_db()
    assert (pageless.page, pageless.attributed_by) == (dear, Attributed.STAFF)
    assert state_of(pageless) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert not Good.objects.exists()
    # And may be corrected.
    assert "delivered now" in said(act(staff, "attribute", pageless, page="tea-box"))
    assert Good.objects.count() == 1


@pytest.mark.parametrize("typed", ["no-such-page", "9" * 400, "Tea BOX", "<script>", "../tea-box2"])
def test_a_page_that_there_is_not_is_an_error_of_the_form(
    staff: Client, pageless: Transaction, typed: str
) -> None:
    response = act(staff, "attribute", pageless, page=typed)
    assert "There is no such page here" in response.content.decode()
    assert "<script>" not in response.content.decode().replace("<script src", "")
    assert state_of(pageless) == (FulfilmentState.HELD, Reason.UNATTRIBUTED)


def test_a_name_that_two_pages_share_is_refused(
    staff: Client, pageless: Transaction, sandbox: Sandbox
) -> None:
    for slug in ("one", "two"):
        mirror_another(sandbox, name="Twin", slug=slug, amount=100)
    assert "Several pages" in act(staff, "attribute", pageless, page="Twin").content.decode()


def test_at_most_fifty_pages_are_suggested_all_of_which_fit(
    staff: Client, pageless: Transaction
) -> None:
    PaymentPage.objects.bulk_create(
        PaymentPage(
            remote_id=1000 + n,
            name=f"Page {n}",
            slug=f"page-{n}",
            slug_key=f"key-{n}",
            amount=n * 400,
            currency="ILS",
            domain="test",
        )
        for n in range(1, 101)
    )
    shown = staff.get(address("attribute", pageless)).content.decode()
    options = re.findall(r'<option value="page-(\d+)"', shown)
    assert 0 < shown.count("<option") <= 50
    assert max(map(int, options)) * 400 <= 10_000
    assert "<select" not in shown.partition('id="content"')[2]


def test_what_the_merchant_expected_of_a_reference_is_not_overruled(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    expect_payment("PPG-EXPECTED", amount=20_000)
    sandbox.add_transaction("PPG-EXPECTED")
    confirm_payment("PPG-EXPECTED", door=Door.WEBHOOK)
    paid = Transaction.objects.get()
    assert state_of(paid) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert address("attribute", paid) not in staff.get(address("change", paid)).content.decode()
    staff.post(address("attribute", paid), {"page": "tea-box"})
    paid.refresh_from_db()
    assert (paid.page, paid.attributed_by) == (None, Attributed.EXPECTED)


def test_staff_end_a_conflict_that_asking_again_does_not(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    mirror_another(sandbox, slug="other", amount=5000)
    reference = sandbox.pay("tea-box", metadata={"page_slug": "other"})
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    paid = Transaction.objects.get()
    assert state_of(paid) == (FulfilmentState.HELD, Reason.ATTRIBUTION_CONFLICT)
    detail = staff.get(address("change", paid)).content.decode()
    assert "Tea box" in detail, "both accounts are named"
    let_time_pass(10)
    act(staff, "verify", paid)
    assert state_of(paid) == (FulfilmentState.HELD, Reason.ATTRIBUTION_CONFLICT)
    act(staff, "attribute", paid, page="tea-box")
    paid.refresh_from_db()
    assert (paid.page, state_of(paid)[0]) == (tea_box, FulfilmentState.DELIVERED)
    assert Good.objects.count() == 1


def test_a_later_answer_keeps_what_staff_said(
    staff: Client, pageless: Transaction, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    other = mirror_another(sandbox, slug="other", amount=100)
    act(staff, "attribute", pageless, page="other")
    let_time_pass(10)
    confirm_payment(pageless.reference, door=Door.CALLBACK, page_token=tea_box.token, refresh=True)
    pageless.refresh_from_db()
    assert (pageless.page, pageless.attributed_by) == (other, Attributed.STAFF)
    assert Verification.objects.get().state == "settled"
    assert Good.objects.count() == 1


def test_a_payment_of_the_other_mode_is_not_approved_and_staff_are_told_why(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    confirm_payment(
        sandbox.pay("tea-box", domain="live"), door=Door.CALLBACK, page_token=tea_box.token
    )
    row = Transaction.objects.get()
    page = staff.get(reverse("admin:payments_pages_transaction_change", args=[row.pk]))
    assert "Approve and deliver" not in [str(button.label) for button in page.context["possible"]]
    assert "Reject" in [str(button.label) for button in page.context["possible"]]
    (advice,) = page.context["explanation"].advice
    assert advice.startswith("It cannot be approved: after MODE is corrected")
    url = reverse("admin:payments_pages_transaction_approve", args=[row.pk])
    answer = staff.post(url, {"note": "all the same"}, follow=True)
    assert "It has changed" in said(answer) or "cannot be done" in said(answer)
    assert state_of(row) == (FulfilmentState.HELD, Reason.MODE_MISMATCH)
    assert not Good.objects.exists()
