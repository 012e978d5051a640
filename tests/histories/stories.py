"""Let payments go through the path, spoil what it left in one way, and ask the checker.

Each history is made by the path itself, with the handlers and the triggers of the torture. A story
then changes one thing, as a fault of the package, or of the run, would have left it.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import HTTPServer
from typing import Any

from django.conf import settings
from django.db import OperationalError, ProgrammingError, connection
from django.test import override_settings

from payments_pages.choices import Door, EventKind, FulfilmentState
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.pages import slug_key
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from torture import handlers, worker
from torture.checking import check
from torture.effects.models import Change, Effect
from torture.finishing import come_back, finish
from torture.handlers import begins, outside
from torture.history import keep_history
from torture.pace import hurry
from torture.plan import PRICE, Fate, Payment
from torture.visits import visit_site

__all__ = ["tell_all"]

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

    def clear(self) -> None:
        """Leave nothing of the story before."""
        for model in (Effect, Event, Fulfilment, Transaction, Verification, PaymentPage, Change):
            model.objects.all().delete()
        for trace in (begins, outside):
            trace.path.write_text("")
        self.payments.clear()
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


SHOWN = ("accepted", "delivered", "repeated", "lost", "doubled", "broken")
Spoil = Callable[[Stage], None]
STORIES: dict[str, tuple[str, Spoil]] = {}


def tell_all(sandbox: Sandbox, site: HTTPServer) -> dict[str, Any]:
    """Tell every story on a clean stage; what the checker found, by the story's name."""
    hurry()
    handlers.CHANCE_OF_LONG_WORK = handlers.CHANCE_OF_ERROR = 0
    worker.SWEEP_EVERY = 0
    keep_history()
    stage = Stage(sandbox, site)
    return {name: _tell(stage, *story) for name, story in STORIES.items()}


def _tell(stage: Stage, handler: str, spoil: Spoil) -> dict[str, Any]:
    way = {"HANDLER": f"torture.handlers.give_{handler}", "HANDLER_ATOMIC": handler == "atomic"}
    with override_settings(PAYMENTS_PAGES={**settings.PAYMENTS_PAGES, **way}):
        stage.clear()
        stage.pay_all()
        spoil(stage)
        found = check(stage.payments, handler)
    return {**{name: getattr(found, name) for name in SHOWN}, "errors": dict(found.errors)}


def told(handler: str = "atomic") -> Callable[[Spoil], Spoil]:
    """Add a story, by the name of what spoils its history."""

    def add(spoil: Spoil) -> Spoil:
        STORIES[spoil.__name__] = (handler, spoil)
        return spoil

    return add


def _fulfilment(reference: str) -> Any:
    return Fulfilment.objects.filter(reference_key=reference_key(reference))


@told()
def nothing_is_spoilt(stage: Stage) -> None:
    pass


@told("external")
def nothing_is_spoilt_outside(stage: Stage) -> None:
    pass


@told("external")
def given_again_under_the_same_key(stage: Stage) -> None:
    outside.say(PAID, _fulfilment(PAID).get().idempotency_key, 2)


@told()
def accepted_and_left_open(stage: Stage) -> None:
    stage.leave_open()


@told()
def never_heard_of(stage: Stage) -> None:
    stage.payments.append(Payment("TORTURE-9", Fate.MUST, {}, {}))


@told()
def marked_and_not_given(stage: Stage) -> None:
    Effect.objects.filter(reference=UNDONE).delete()


@told("external")
def marked_and_not_given_outside(stage: Stage) -> None:
    kept = [words for words in outside.lines() if words[0] != PAID]
    outside.path.write_text("")
    for words in kept:
        outside.say(*words)


@told()
def told_as_delivered_and_not_given(stage: Stage) -> None:
    begins.say("told", LEFT, "already_delivered")


@told()
def given_twice(stage: Stage) -> None:
    Effect.objects.create(reference=PAID, key=_fulfilment(PAID).get().idempotency_key, attempt=2)


@told("external")
def given_under_two_keys(stage: Stage) -> None:
    outside.say(PAID, uuid.uuid4(), 2)


@told("external")
def given_under_a_foreign_key(stage: Stage) -> None:
    _fulfilment(PAID).update(idempotency_key=uuid.uuid4())
    Change.objects.filter(deed="UPDATE", state_before="delivered").delete()


@told()
def a_mismatch_is_delivered(stage: Stage) -> None:
    row = _fulfilment(LESS)
    row.update(state=FulfilmentState.DELIVERED)
    Effect.objects.create(reference=LESS, key=row.get().idempotency_key, attempt=1)
    Event.objects.create(
        reference_key=reference_key(LESS), kind=EventKind.ACCEPTED, door=Door.CALLBACK
    )


@told()
def delivered_and_never_accepted(stage: Stage) -> None:
    Event.objects.filter(reference_key=reference_key(PAID), kind=EventKind.ACCEPTED).delete()


@told()
def given_and_never_paid(stage: Stage) -> None:
    Effect.objects.create(reference="TORTURE-9", key="", attempt=1)


@told("external")
def given_and_not_marked(stage: Stage) -> None:
    stage.leave_open()
    outside.say(OPEN, _fulfilment(OPEN).get().idempotency_key, 1)


@told()
def attempts_fall(stage: Stage) -> None:
    _fulfilment(LESS).update(attempts=3)
    _fulfilment(LESS).update(attempts=2)


@told()
def attempts_to_ask_fall(stage: Stage) -> None:
    Verification.objects.filter(reference=PAID).update(attempts=0)


@told()
def it_leaves_delivered_for_a_moment(stage: Stage) -> None:
    _fulfilment(PAID).update(state=FulfilmentState.DELIVERING)
    Fulfilment.objects.filter(state=FulfilmentState.DELIVERING).update(
        state=FulfilmentState.DELIVERED
    )


@told()
def it_is_marked_twice(stage: Stage) -> None:
    _fulfilment(PAID).update(state=FulfilmentState.DELIVERED)


@told()
def a_success_fails_later(stage: Stage) -> None:
    Transaction.objects.filter(reference=PAID).update(status="failed")


@told()
def a_success_is_reversed(stage: Stage) -> None:
    Transaction.objects.filter(reference=PAID).update(status="reversed")


@told()
def a_fulfilment_is_deleted_and_comes_again(stage: Stage) -> None:
    row = _fulfilment(PAID).get()
    pk = row.pk
    row.delete()
    row.pk = pk
    row.save(force_insert=True)


@told()
def a_verification_is_deleted(stage: Stage) -> None:
    Verification.objects.filter(reference=PAID).delete()


@told()
def a_transaction_is_deleted(stage: Stage) -> None:
    Transaction.objects.filter(reference=LEFT).delete()


@told()
def a_row_is_replaced(stage: Stage) -> None:
    """In one statement; PostgreSQL has none, so there in two."""
    columns = "payments_pages_verification WHERE reference = %s"
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute(
                f"REPLACE INTO payments_pages_verification SELECT * FROM {columns}", [PAID]
            )
            return
        row = Verification.objects.get(reference=PAID)
        cursor.execute(f"DELETE FROM {columns}", [PAID])
        row.save(force_insert=True)


@told()
def a_fulfilment_is_born_delivered(stage: Stage) -> None:
    mirrored = Transaction.objects.get(reference=LEFT)
    Fulfilment.objects.create(
        transaction=mirrored,
        reference_key=mirrored.reference_key,
        state=FulfilmentState.DELIVERED,
    )


@told()
def an_error_comes_out(stage: Stage) -> None:
    worker._note_error(worker._visit, ValueError("no such thing"))


@told()
def the_database_is_away_in_the_path(stage: Stage) -> None:
    worker._note_error(worker._visit, _away())


@told()
def the_database_is_away_in_a_sweep(stage: Stage) -> None:
    worker._note_error(worker._sweep, _away())


@told()
def a_sweep_meets_a_fault(stage: Stage) -> None:
    worker._note_error(worker._sweep, ProgrammingError("no such table"))


def _away() -> Exception:
    """Make the error of a database server that is gone, as this database's driver does."""
    if connection.vendor == "mysql":
        return OperationalError(2013, "Lost connection to server during query")
    if connection.vendor == "postgresql":
        return OperationalError("server closed the connection unexpectedly")
    import sqlite3

    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    error = OperationalError("database is locked")
    error.__cause__ = busy
    return error


def _break_mirror(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
    if sql.startswith("INSERT") and "payments_pages_transaction" in sql:
        raise ProgrammingError("no such column")
    return execute(sql, *arguments)


@told()
def a_row_raises_in_a_sweep(stage: Stage) -> None:
    stage.sandbox.pay("tea-box", reference=OPEN)
    stage.sandbox.faults.add(operation="verify", kind="status", status=503)
    confirm_payment(OPEN, door=Door.WEBHOOK, vouched=True)
    stage.sandbox.faults.clear()
    Verification.objects.filter(reference=OPEN).update(next_at="2026-01-01T00:00Z", asked_at=None)
    with connection.execute_wrapper(_break_mirror):
        worker._sweep()


@told()
def a_door_answers_500(stage: Stage) -> None:
    stage.site.status = 500  # type: ignore[attr-defined]
    visit_site(PAID)


@told()
def a_door_answers_503(stage: Stage) -> None:
    stage.site.status = 503  # type: ignore[attr-defined]
    visit_site(PAID)
