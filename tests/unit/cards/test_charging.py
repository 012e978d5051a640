"""The recipe of docs/cards.md: the merchant charges a card, and the path confirms it."""

import re
from pathlib import Path
from typing import Any

import pytest
import requests
from django.contrib.auth.models import User

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.conf import conf
from payments_pages.confirmation import confirm_payment
from payments_pages.models import ExpectedPayment, Fulfilment, SavedCard, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import run_sweep
from tests.conftest import KEY
from tests.support.goods.models import Good
from tests.unit.cards.conftest import NOOR, Pay

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "cards.md").read_text()

pytestmark = pytest.mark.django_db(transaction=True)


def snippet(name: str) -> dict[str, Any]:
    """Run a block of the page; what it defines."""
    (block,) = re.findall(rf"<!-- snippet: {name} -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    defined: dict[str, Any] = {"__name__": "shop.cards"}
    exec(block, defined)
    return defined


def owner(transaction: Transaction) -> Any:
    """`SAVE_CARD` of the page."""
    return snippet("owner")["owner"](transaction)


def charge(card: SavedCard, expected: ExpectedPayment, **changes: Any) -> requests.Response:
    """A call as the page makes it, with changes."""
    with requests.Session() as session:
        session.trust_env = False
        return session.post(
            f"{conf.base_url}/sandbox/charge",
            headers={"Authorization": f"Bearer {KEY}"},
            json={
                "authorization_code": card.authorization_code(),
                "amount": expected.amount,
                "currency": expected.currency,
                "reference": expected.reference,
                **changes,
            },
            timeout=8,
            allow_redirects=False,
        )


def given(expected: ExpectedPayment) -> int:
    return Good.objects.filter(reference=expected.reference).count()


def test_the_blocks_of_the_page_save_a_card_and_charge_it(
    noor: User, sandbox: Sandbox, configure: Any, caplog: pytest.LogCaptureFixture
) -> None:
    configure(SAVE_CARD=f"{__name__}.owner")
    context = {"user": noor.pk, "save_card": True}
    for ticked in (False, True):
        order = ExpectedPayment.objects.expect(
            amount=500, currency="ILS", context={**context, "save_card": ticked}
        )
        sandbox.start_checkout(
            order.reference, amount=500, currency="ILS", email="typed@example.test"
        )
        sandbox.end_checkout(order.reference)
        assert confirm_payment(order.reference, vouched=True).outcome is Outcome.DELIVERED
        assert SavedCard.objects.exists() is ticked
    card = SavedCard.objects.of(noor).get()
    again = snippet("charge")["charge"]
    paid = {"amount": 900, "currency": "ILS", "key": KEY}
    url = f"{sandbox.base_url}/sandbox/charge"
    assert again(card, url=url, **paid).outcome is Outcome.DELIVERED
    assert Good.objects.count() == 3
    assert SavedCard.objects.get().saved_at > card.saved_at, "it was paid with once more"
    nobody_listens = again(card, url="http://127.0.0.1:9/", **paid)
    assert nobody_listens.outcome is Outcome.UNKNOWN
    assert "No answer to the charge of" in caplog.text
    assert Good.objects.count() == 3


def test_the_block_of_the_page_forgets_the_cards_of_a_user(noor: User, pay: Pay) -> None:
    pay()
    assert SavedCard.objects.of(noor).count() == 1
    assert snippet("forget")["forget_cards"](noor) == 1
    assert not SavedCard.objects.exists()


def test_a_card_is_charged_and_its_reference_confirmed(noor: User, pay: Pay) -> None:
    pay()
    card = SavedCard.objects.of(noor).get()
    expected = ExpectedPayment.objects.expect(amount=4500, currency="ILS")
    assert charge(card, expected).status_code == 200
    found = confirm_payment(expected.reference, door=Door.CODE, vouched=True)
    assert found.outcome is Outcome.DELIVERED
    assert given(expected) == 1
    expected.refresh_from_db()
    assert expected.paid_by_key == expected.reference_key
    assert SavedCard.objects.get().saved_at > card.saved_at, "it was paid with once more"


def test_if_the_answer_to_the_charge_is_lost_the_sweep_finds_the_payment(
    noor: User, pay: Pay
) -> None:
    pay()
    expected = ExpectedPayment.objects.expect(amount=4500, currency="ILS")
    charge(SavedCard.objects.get(), expected)
    run_sweep(after=300)
    assert given(expected) == 1


def test_a_charge_that_never_reached_the_service_is_not_delivered(noor: User, pay: Pay) -> None:
    expected = ExpectedPayment.objects.expect(amount=4500, currency="ILS")
    run_sweep(after=300)
    assert given(expected) == 0


def test_a_charge_of_less_than_what_is_expected_is_held(noor: User, pay: Pay) -> None:
    pay()
    expected = ExpectedPayment.objects.expect(amount=4500, currency="ILS")
    charge(SavedCard.objects.get(), expected, amount=45)
    confirm_payment(expected.reference, door=Door.CODE, vouched=True)
    row = Fulfilment.objects.get(transaction__reference=expected.reference)
    assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)


@pytest.mark.parametrize(
    "changes",
    [
        {"authorization_code": "AUTH_nobodys"}, {"authorization_code": ""}, {"authorization_code": 7},
        {"amount": "4500"}, {"amount": 0}, {"amount": True}, {"currency": ""}, {"reference": ""},
    ],
    ids=repr,
)  # fmt: skip
def test_the_sandbox_refuses_what_is_no_charge(noor: User, pay: Pay, changes: Any) -> None:
    pay()
    expected = ExpectedPayment.objects.expect(amount=4500, currency="ILS")
    answer = charge(SavedCard.objects.get(), expected, **changes)
    assert (answer.status_code, answer.json()["status"]) == (400, False)


def test_the_sandbox_charges_a_reference_once_and_a_card_that_allows_it(
    noor: User, pay: Pay, sandbox: Sandbox
) -> None:
    first = pay()
    card = SavedCard.objects.get()
    expected = ExpectedPayment.objects.expect(amount=4500, currency="ILS")
    assert charge(card, expected).status_code == 200
    assert charge(card, expected).status_code == 400
    for reference in (first, expected.reference):
        data = sandbox.transaction(reference)
        assert data is not None
        sandbox.set_transaction(
            reference, authorization={**data["authorization"], "reusable": False}
        )
    other = ExpectedPayment.objects.expect(amount=1, currency="ILS")
    assert charge(card, other).status_code == 400


def test_without_the_key_nothing_is_charged(noor: User, pay: Pay, sandbox: Sandbox) -> None:
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{sandbox.base_url}/sandbox/charge", json={}, timeout=8)
    assert answer.status_code == 401


def test_the_payer_of_a_charge_is_that_of_the_card(noor: User, pay: Pay, sandbox: Sandbox) -> None:
    pay()
    expected = ExpectedPayment.objects.expect(amount=4500, currency="ILS")
    charge(SavedCard.objects.get(), expected)
    data = sandbox.transaction(expected.reference)
    assert data is not None
    assert data["customer"]["email"] == NOOR
