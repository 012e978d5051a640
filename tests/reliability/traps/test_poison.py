"""Trap 4: JSON that some database cannot store is stored in another form or refused, and breaks nothing."""

import json
from typing import Any

import pytest

from payments_pages.choices import Door, Outcome, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db

DOCUMENT: dict[str, Any] = {
    "id": 7, "reference": "PPG-4", "status": "success", "domain": "test", "currency": "ILS",
    "amount": 10000, "metadata": {}, "customer": {"email": "nur@example.test"},
}  # fmt: skip
POISON = {
    "a NUL": r'"10000\u0000"',
    "beyond 64 bits": str(2**63),
    "half a surrogate pair": r'"\ud800"',
    "a fraction": "1.5",
    "true": "true",
    "NaN": "NaN",
    "infinity": "-Infinity",
    "more digits than Python reads": "9" * 4301,
    "no number at all": "1e999999999",
    "too deep": "[" * 100_000 + "]" * 100_000,
}
"""Values as they stand in the JSON, by the name of their fault."""
UNBELIEVABLE = {"too deep"}
"""Values at which the whole document is refused, and asked for again later."""


def say(sandbox: Sandbox, **fields: str) -> None:
    """Let the service answer the document, with these fields as raw JSON."""
    texts = {name: json.dumps(value) for name, value in DOCUMENT.items()} | fields
    data = ", ".join(f'"{name}": {text}' for name, text in texts.items())
    body = f'{{"status": true, "message": "ok", "data": {{{data}}}}}'
    sandbox.faults.add(operation="verify", kind="raw", body=body)


def confirm(page: PaymentPage) -> Outcome:
    return confirm_payment("PPG-4", door=Door.CALLBACK, page_token=page.token).outcome


@pytest.mark.parametrize("poison", POISON)
def test_trap_4_as_an_amount_it_buys_nothing(
    tea_box: PaymentPage, sandbox: Sandbox, poison: str
) -> None:
    """Unchecked, a column of whole numbers takes 1.5 and true for 1: the page costs no more."""
    PaymentPage.objects.update(amount=1)
    say(sandbox, amount=POISON[poison])
    told = confirm(tea_box)
    assert not Good.objects.exists()
    if poison in UNBELIEVABLE:
        assert told is Outcome.UNAVAILABLE
        assert not Transaction.objects.exists()
    else:
        assert told is Outcome.HELD
        assert Fulfilment.objects.get().reason == Reason.AMOUNT_INVALID


@pytest.mark.parametrize("field", ["metadata", "customer", "log", "gateway_response", "paid_at"])
@pytest.mark.parametrize("poison", POISON)
def test_trap_4_anywhere_else_it_loses_no_payment(
    tea_box: PaymentPage, sandbox: Sandbox, poison: str, field: str
) -> None:
    value = POISON[poison]
    nested = field in {"metadata", "customer", "log"}
    say(sandbox, **{field: f'{{"a": {value}, "b": [{value}]}}' if nested else value})
    told = confirm(tea_box)
    if poison in UNBELIEVABLE:
        assert told is Outcome.UNAVAILABLE
        sandbox.faults.clear()
        say(sandbox)
        let_time_pass(60)
        told = confirm(tea_box)
    assert told is Outcome.DELIVERED
    stored = Transaction.objects.get()
    json.dumps([stored.metadata, stored.customer, stored.log], allow_nan=False).encode()
    assert Good.objects.count() == 1
