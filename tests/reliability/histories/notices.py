"""Bring signed notices that verify is behind, and let some come to nothing."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.utils import timezone

from payments_pages.choices import VerificationState
from payments_pages.confirmation import sweep_due
from payments_pages.models import Verification
from payments_pages.testing import let_time_pass
from tests.reliability.histories.stage import LEFT, OPEN, Stage, told
from tests.reliability.torture import notices
from tests.reliability.torture.effects.models import Change
from tests.reliability.torture.finishing import sweep_twice
from tests.reliability.torture.handlers import begins
from tests.reliability.torture.plan import Fate, Payment

HOUR = 3600


def _see(stage: Stage, *, age: float = 0) -> None:
    """Let a payer be here, and fail to pay; so long ago."""
    token = {"metadata": {"payments_pages_token": settings.RUN["token"]}}
    stage.pay(Payment(OPEN, Fate.MUST, {"status": "abandoned", **token}, {"status": "success"}))
    if age:
        let_time_pass(age)
        sweep_due()
        # Moving time writes every row, which no payment does.
        Change.objects.filter(deed="UPDATE", state_before="delivered").delete()


def _send(reference: str = OPEN) -> None:
    notices._send(reference, look=lambda _reference: None, tell=notices.take_notice)


def _end(stage: Stage, reference: str = OPEN, **spoilt: Any) -> None:
    """Let verify catch up, and the sweep run twice; before that change the row, if asked to."""
    if spoilt:
        Verification.objects.filter(reference=reference).update(**spoilt)
    if stage.sandbox.transaction(reference) is not None:
        stage.sandbox.set_transaction(reference, status="success")
    stage.unheard = sweep_twice().references


@told()
def a_notice_is_asked_about_in_time(stage: Stage) -> None:
    _see(stage)
    _send()
    _end(stage)


@told()
def a_notice_of_an_old_reference_is_asked_about_in_time(stage: Stage) -> None:
    _see(stage, age=80 * HOUR)
    assert Verification.objects.get(reference=OPEN).state == VerificationState.LAPSED
    _send()
    _end(stage)


@told()
def a_notice_is_answered_from_the_older_look(stage: Stage) -> None:
    """The control does so, in the path that is right otherwise."""
    settings.RUN["control"] = notices.OLDER_LOOK
    try:
        _see(stage, age=80 * HOUR)
        _send()
    finally:
        settings.RUN["control"] = None
    _end(stage)


@told()
def a_notice_is_asked_about_hours_later(stage: Stage) -> None:
    _see(stage)
    _send()
    _end(stage, next_at=timezone.now() + dt.timedelta(hours=6))


@told()
def a_notice_is_forgotten(stage: Stage) -> None:
    begins.say("signed", "TORTURE-9", "unknown")
    _end(stage, "TORTURE-9")


@told()
def what_a_notice_named_is_given_up(stage: Stage) -> None:
    begins.say("signed", LEFT, "pending")
    Verification.objects.filter(reference=LEFT).update(state=VerificationState.LAPSED)


@told()
def what_a_notice_named_rests_as_unknown(stage: Stage) -> None:
    begins.say("signed", LEFT, "pending")
    Verification.objects.filter(reference=LEFT).update(state=VerificationState.UNKNOWN)


@told()
def a_notice_is_sent_until_it_is_answered(stage: Stage) -> None:
    """Not again after any answer but "cannot be confirmed right now", and never twice answered."""
    answers = iter([None, "unavailable", "pending"])
    sent: list[str] = []

    def tell(reference: str) -> str | None:
        sent.append(reference)
        return next(answers)

    notices.LATEST = 1
    newest = next(number for number in range(1000) if _is_told_of(number))
    for _time in range(5):
        notices.send_next(newest, look=lambda _reference: None, tell=tell)
    assert sent == [f"TORTURE-{newest}"] * 3
    assert [tuple(words) for words in notices.signed()] == [(sent[0], "pending")]
    begins.path.write_text("")


def _is_told_of(number: int) -> bool:
    return notices.payment(settings.RUN["seed"], number, settings.RUN["token"]).by_notice
