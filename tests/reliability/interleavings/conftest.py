"""Fixtures: the place where rivals meet, and leases that hold or are over at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, rivals, verification
from payments_pages.db import row_locks
from payments_pages.exceptions import DecisionError
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions

Action = Callable[[], Any]


def answered(decide: Action) -> Action:
    """Tell staff to come again where the service could not be asked: a rival was asking it."""

    def act() -> Any:
        try:
            return decide()
        except DecisionError:
            return Outcome.UNAVAILABLE

    return act


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rivals meet."""

    sandbox: Sandbox
    page: PaymentPage

    def callback(self, reference: str) -> Action:
        token = self.page.token
        return lambda: confirm_payment(reference, door=Door.CALLBACK, page_token=token).outcome

    def webhook(self, reference: str) -> Action:
        return lambda: confirm_payment(reference, door=Door.WEBHOOK, vouched=True).outcome

    def sweep(self, reference: str, *, asking: bool) -> Action:
        return lambda: (
            confirm_payment(reference, door=Door.SWEEP, refresh=asking, waits=False).outcome
        )

    def reverify(self, reference: str) -> Action:
        return lambda: (
            confirm_payment(reference, door=Door.ADMIN, vouched=True, refresh=True).outcome
        )

    def attribute(self, reference: str) -> Action:
        row = Fulfilment.objects.select_related("transaction").get(transaction__reference=reference)
        return answered(lambda: decisions.attribute(row.transaction, page=self.page, actor="Rana"))

    def approve(self, reference: str) -> Action:
        row = Fulfilment.objects.select_related("transaction").get(transaction__reference=reference)
        return answered(
            lambda: decisions.approve(row.transaction, actor="Rana", note="paid the rest in cash")
        )

    def reject(self, reference: str) -> Action:
        row = Fulfilment.objects.select_related("transaction").get(transaction__reference=reference)
        return lambda: decisions.reject(row.transaction, actor="Omar", note="paid too little")


@pytest.fixture
def place(
    transactional_db: None,
    sandbox: Sandbox,
    tea_box: PaymentPage,
    configure: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Place:
    """Callers wait neither for rivals nor for locks, because the scheduler has stopped the rival."""
    monkeypatch.setattr(row_locks, "LOOKS", (0.0,))
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 0.0)
    monkeypatch.setattr(verification, "ASK_AT_MOST_EVERY", 0.0)
    configure(HANDLER="tests.support.goods.handlers.give")
    return Place(sandbox, tea_box)


@pytest.fixture
def leases(request: pytest.FixtureRequest, configure: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Hold, or be over as soon as they are taken: then each may take the other's work over."""
    kind = str(request.param)
    if kind == "over":
        configure(LEASE=0)
        monkeypatch.setattr(verification, "LEASE_MARGIN", -100.0)
    return kind
