"""Take payments through the path, add one fault to the result, and run the checker.

Each history is made by the path itself, with the handlers and the triggers of the torture. A story
then changes one thing, as a fault of the package, or of the run, would have left it.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import HTTPServer
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.test import override_settings

from payments_pages.choices import Door, FulfilmentState
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.pages.changes import slug_key
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from tests.reliability.torture import handlers, worker
from tests.reliability.torture.checking import check
from tests.reliability.torture.effects.models import Change, Effect
from tests.reliability.torture.finishing import come_back, finish
from tests.reliability.torture.handlers import begins, outside
from tests.reliability.torture.history import keep_history
from tests.reliability.torture.pace import hurry
from tests.reliability.torture.plan import PRICE, Fate, Payment

__all__ = ["LEFT", "LESS", "OPEN", "PAID", "UNDONE", "Stage", "fulfilment_of", "tell_all", "told"]

PAID, LESS, LATER, LEFT, UNDONE, OPEN = (f"TORTURE-{number}" for number in range(6))
PAYMENTS = [
    Payment(PAID, Fate.MUST, {}, {}),
    Payment(LESS, Fate.NEVER, {"amount": PRICE - 1}, {}),
    Payment(LATER, Fate.MUST, {"status": "pending"}, {"status": "success"}),
    Payment(LEFT, Fate.NEVER, {"status": "abandoned"}, {}),
    Payment(UNDONE, Fate.MAY, {}, {"status": "reversed"}),
]


@dataclass
class Stage:
    """Where a story happens."""

    sandbox: Sandbox
    site: HTTPServer
    payments: list[Payment] = field(default_factory=list)
    unheard: dict[str, str] = field(default_factory=dict)
    """What two sweeps did not ask about, if a story looked."""

    def clear(self) -> None:
        """Leave nothing of the story before."""
        for model in (Effect, Event, Fulfilment, Transaction, Verification, PaymentPage, Change):
            model._base_manager.all()._raw_delete(connection.alias)
        for trace in (begins, outside):
            trace.path.write_text("")
        self.payments.clear()
        self.unheard = {}
        for answered in (Path(settings.RUN["folder"]) / "notices").iterdir():
            answered.unlink()
        self.sandbox.reset()
        remote = self.sandbox.add_page(name="Tea box", slug="tea-box", amount=PRICE)
        PaymentPage.objects.create(
            remote_id=remote["id"], token=settings.RUN["token"], name="Tea box", slug="tea-box",
            slug_key=slug_key("tea-box"), amount=PRICE, currency="ILS", domain="test",
        )  # fmt: skip

    def pay(self, made: Payment) -> None:
        """Let a payer pay, come back by the callback, and be told."""
        self.payments.append(made)
        self.sandbox.pay("tea-box", reference=made.reference, **made.fields)
        self.ask(made.reference)

    def ask(self, reference: str) -> None:
        token = uuid.UUID(settings.RUN["token"])
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=token)
        begins.say("told", reference, found.outcome)

    def pay_all(self) -> None:
        """Make the good history, finished as a run's is."""
        for made in PAYMENTS:
            self.pay(made)
        for made in PAYMENTS:
            if made.later:
                self.sandbox.set_transaction(made.reference, **made.later)
        finish()
        come_back(self.payments, settings.RUN["token"])

    def leave_open(self) -> None:
        """Add a payment whose handler fails, and that nothing finishes."""
        handlers.CHANCE_OF_ERROR = 1
        self.pay(Payment(OPEN, Fate.MUST, {}, {}))
        handlers.CHANCE_OF_ERROR = 0


SHOWN = ("accepted", "delivered", "signed", "early", "repeated", "lost", "doubled", "broken")
Spoil = Callable[[Stage], None]
STORIES: dict[str, tuple[str, Spoil]] = {}


def tell_all(sandbox: Sandbox, site: HTTPServer) -> dict[str, Any]:
    """Tell every story on a clean stage; what the checker found, by the story's name."""
    hurry()
    handlers.CHANCE_OF_LONG_WORK = handlers.CHANCE_OF_ERROR = 0
    worker.SWEEP_EVERY = 0
    handlers.LONGER_THAN_THE_LEASE, handlers.CHANCE_OF_CARE = 0, 1
    keep_history()
    stage = Stage(sandbox, site)
    return {name: _tell(stage, *story) for name, story in STORIES.items()}


def _tell(stage: Stage, handler: str, spoil: Spoil) -> dict[str, Any]:
    way = {
        "HANDLER": f"tests.reliability.torture.handlers.give_{handler}",
        "HANDLER_ATOMIC": handler == "atomic",
    }
    with override_settings(PAYMENTS_PAGES={**settings.PAYMENTS_PAGES, **way}):
        stage.clear()
        stage.pay_all()
        spoil(stage)
        found = check(stage.payments, handler)
        found.lost.update(stage.unheard)
    shown = {name: getattr(found, name) for name in SHOWN}
    renewals = Change.objects.filter(
        kind="fulfilment",
        state_before=FulfilmentState.DELIVERING,
        state_after=FulfilmentState.DELIVERING,
        attempts_before=F("attempts_after"),
    )
    return {**shown, "errors": dict(found.errors), "renewals": renewals.count()}


def told(handler: str = "atomic") -> Callable[[Spoil], Spoil]:
    """Add a story, by the name of what spoils its history."""

    def add(spoil: Spoil) -> Spoil:
        STORIES[spoil.__name__] = (handler, spoil)
        return spoil

    return add


def fulfilment_of(reference: str) -> Any:
    return Fulfilment.objects.filter(reference_key=reference_key(reference))
