"""Spoil what was given, and what was told about it."""

import uuid

from payments_pages.choices import Door, EventKind, FulfilmentState
from payments_pages.models import Event
from payments_pages.references import reference_key
from tests.reliability.histories.stage import (
    LEFT,
    LESS,
    OPEN,
    PAID,
    UNDONE,
    Stage,
    fulfilment_of,
    told,
)
from tests.reliability.torture.effects.models import Change, Effect
from tests.reliability.torture.handlers import begins, outside
from tests.reliability.torture.plan import Fate, Payment


@told()
def nothing_is_spoilt(stage: Stage) -> None:
    pass


@told("external")
def nothing_is_spoilt_outside(stage: Stage) -> None:
    pass


@told("external")
def given_again_under_the_same_key(stage: Stage) -> None:
    outside.say(PAID, fulfilment_of(PAID).get().idempotency_key, 2)


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
    Effect.objects.create(reference=PAID, key=fulfilment_of(PAID).get().idempotency_key, attempt=2)


@told("external")
def given_under_two_keys(stage: Stage) -> None:
    outside.say(PAID, uuid.uuid4(), 2)


@told("external")
def given_under_a_foreign_key(stage: Stage) -> None:
    fulfilment_of(PAID).update(idempotency_key=uuid.uuid4())
    Change.objects.filter(deed="UPDATE", state_before="delivered").delete()


@told()
def a_mismatch_is_delivered(stage: Stage) -> None:
    row = fulfilment_of(LESS)
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
    outside.say(OPEN, fulfilment_of(OPEN).get().idempotency_key, 1)
