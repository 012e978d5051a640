"""Fixtures: payments that are opened, and wait for a worker."""

from collections.abc import Callable
from typing import Any

import pytest

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox

NUDGE = "payments_pages.{}.nudge"


@pytest.fixture
def pay_many(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Callable[..., list[str]]:
    """Pay and come back so many times, where deliveries are queued; the references."""

    def pay(count: int, *, engine: str, **keys: Any) -> list[str]:
        configure(DELIVERY="queued", NUDGE=NUDGE.format(engine), **keys)
        references = []
        for _number in range(count):
            reference = sandbox.pay("tea-box")
            found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
            assert found.outcome is Outcome.DELIVERING
            references.append(reference)
        return references

    return pay
