"""Held payments are worked off one after the other, within the filters of the list."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_another
from tests.unit.admin.transactions.conftest import said, state_of

pytestmark = pytest.mark.django_db

LIST = "/admin/payments_pages/transaction/"
FILTERS = "?_changelist_filters=held%3Ddecision%26currency%3DILS"


@pytest.fixture
def queue(tea_box: PaymentPage, sandbox: Sandbox) -> list[Transaction]:
    """Three payments of less than the price, the oldest first."""
    for _payment in range(3):
        reference = sandbox.pay("tea-box", amount=9999)
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        assert found.outcome is Outcome.HELD
    return list(Transaction.objects.order_by("pk"))


def address(name: str, row: Transaction) -> str:
    return reverse(f"admin:payments_pages_transaction_{name}", args=[row.pk])


def decide(client: Client, name: str, row: Transaction, **data: Any) -> Any:
    url = address(name, row) + FILTERS
    seen = client.get(url).context["seen"]
    return client.post(url, {"seen": seen, "note": "agreed", **data}, follow=True)


def test_the_filters_of_the_list_are_kept_through_a_decision(
    staff: Client, queue: list[Transaction]
) -> None:
    listed = staff.get(f"{LIST}?held=decision&currency=ILS").content.decode()
    assert escape(address("change", queue[2]) + FILTERS) in listed
    shown = staff.get(address("change", queue[2]) + FILTERS).content.decode()
    assert escape(address("reject", queue[2]) + FILTERS) in shown
    asked = staff.get(address("reject", queue[2]) + FILTERS).content.decode()
    assert f'href="{address("change", queue[2])}{FILTERS}"' in asked, "the way back"
    done = decide(staff, "reject", queue[2])
    assert done.redirect_chain == [(address("change", queue[2]) + FILTERS, 302)]
    assert f"{LIST}?held=decision&amp;currency=ILS" in done.content.decode()


def test_after_a_decision_the_next_held_payment_is_offered_with_how_many_are_left(
    staff: Client, queue: list[Transaction]
) -> None:
    told = said(decide(staff, "reject", queue[1]))
    assert "Next held payment (2 left)" in told
    assert f'href="{address("change", queue[0])}{FILTERS}"' in told, "the next older one"
    told = said(decide(staff, "approve", queue[0]))
    assert "Next held payment (1 left)" in told
    assert f'href="{address("change", queue[2])}{FILTERS}"' in told, "then the newest again"
    assert "Next held payment" not in said(decide(staff, "reject", queue[2]))


def test_one_button_decides_and_opens_the_next_one(staff: Client, queue: list[Transaction]) -> None:
    asked = staff.get(address("reject", queue[2])).content.decode()
    assert 'value="Reject, then the next one (2 left)"' in asked
    done = decide(staff, "reject", queue[2], _next="x")
    assert done.redirect_chain == [(address("change", queue[1]) + FILTERS, 302)]
    assert f"{queue[2].reference}</bdi>: rejected" in said(done)
    stale = staff.post(address("reject", queue[1]), {"seen": "x", "note": "x", "_next": "x"})
    assert stale["Location"] == address("change", queue[1]), "nothing was done: stay"


def test_a_delivery_that_was_given_up_leads_to_the_next_of_its_kind(
    staff: Client, queue: list[Transaction], spent: Transaction
) -> None:
    assert "Next held payment" not in said(decide(staff, "reject", spent))


def test_a_note_and_a_question_lead_nowhere_and_a_question_is_no_change(
    staff: Client, queue: list[Transaction]
) -> None:
    for name in ("note", "verify"):
        assert "Next held payment" not in said(decide(staff, name, queue[0]))
    assert [entry.get_change_message() for entry in LogEntry.objects.all()] == ["Changed notes."]


def test_the_page_that_asks_repeats_what_is_decided_about(
    staff: Client, viewer: Client, sign_in: Any, queue: list[Transaction]
) -> None:
    shown = staff.get(address("approve", queue[0])).content.decode()
    for part in ("Paid, held for staff: paid less than the price", "0.01\u00a0ILS",
                 "Tea box", "payer@example.test"):  # fmt: skip
        assert part in shown
    approver = sign_in("view_transaction", "approve_fulfilment")
    masked = approver.get(address("approve", queue[0])).content.decode()
    assert "payer@example.test" not in masked
    assert "p•••@example.test" in masked


def test_who_may_not_decide_reads_who_may(
    staff: Client, viewer: Client, sign_in: Any, queue: list[Transaction]
) -> None:
    def told(client: Client) -> str:
        return str(client.get(address("change", queue[0])).context["who_else"])

    assert told(staff) == ""
    assert told(viewer) == "A manager can approve it or reject it."
    assert told(sign_in("view_transaction", "reject_fulfilment")) == "A manager can approve it."
    assert told(sign_in("view_transaction", "approve_fulfilment")) == "A manager can reject it."
    decide(staff, "approve", queue[0])
    assert told(viewer) == ""


def test_one_button_is_the_primary_one(
    staff: Client, queue: list[Transaction], sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    def looks(row: Transaction) -> dict[str, str]:
        buttons = staff.get(address("change", row)).context["possible"]
        return {str(button.label): button.look for button in buttons}

    assert looks(queue[0]) == {
        "Approve and deliver": "primary",
        "Attribute to a page": "plain",
        "Ask the service again": "plain",
        "Reject": "danger",
        "Add a note": "apart",
    }
    confirm_payment(sandbox.pay("tea-box"), door=Door.WEBHOOK, vouched=True)
    assert looks(Transaction.objects.latest("pk"))["Attribute to a page"] == "primary"
    confirm_payment(sandbox.pay("tea-box", status="pending"), door=Door.WEBHOOK, vouched=True)
    assert looks(Transaction.objects.latest("pk"))["Ask the service again"] == "primary"


def test_pages_that_fit_are_chosen_and_any_other_is_typed(
    staff: Client, queue: list[Transaction], sandbox: Sandbox
) -> None:
    from_hand = {"seen": staff.get(address("attribute", queue[0])).context["seen"]}
    assert 'name="fitting"' not in staff.get(address("attribute", queue[0])).content.decode()
    cheap = _page(sandbox, "cheap", amount=5000)
    near = _page(sandbox, "near", amount=9990)
    off = _page(sandbox, "off", amount=9000)
    PaymentPage.objects.filter(pk=off.pk).update(active=False)
    _page(sandbox, "dinar", amount=5000, currency="JOD")
    asked = staff.get(address("attribute", queue[0]))
    choices = [pk for pk, _name in asked.context["form"].fields["fitting"].choices]
    assert choices == [str(near.pk), str(cheap.pk), ""], "the nearest price first"
    assert "Near</bdi> (<bdi" in asked.content.decode()
    both = staff.post(
        address("attribute", queue[0]),
        {**from_hand, "fitting": str(cheap.pk), "page": "tea-box"},
    )
    assert "and not both" in both.content.decode()
    neither = staff.post(address("attribute", queue[0]), {**from_hand, "fitting": "", "page": ""})
    assert "Choose a page, or name another one." in neither.content.decode()
    told = said(decide(staff, "attribute", queue[0], fitting=str(cheap.pk)))
    assert "delivered now" in told
    told = said(decide(staff, "attribute", queue[1], page="tea-box"))
    assert 'still held: paid less than <bdi dir="auto">Tea box</bdi> costs' in told
    told = said(decide(staff, "attribute", queue[1], page="dinar"))
    assert 'still held: <bdi dir="auto">Dinar</bdi> is sold in another currency' in told
    assert state_of(queue[1])[0] == "held"
    assert Fulfilment.objects.get(transaction=queue[0]).state == "delivered"


def _page(sandbox: Sandbox, slug: str, **fields: Any) -> PaymentPage:
    return mirror_another(sandbox, name=slug.capitalize(), slug=slug, **fields)
