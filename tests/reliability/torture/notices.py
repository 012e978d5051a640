"""Bring the service's signed notices: each is sent until it is answered, then there is silence.

Some overtake a look: a payer's look is under way, whose answer is older, when the notice comes.
"""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections

from payments_pages.choices import Outcome, VerificationState
from payments_pages.models import Verification
from payments_pages.references import reference_key
from payments_pages.views.webhook import confirm_event
from tests.reliability.torture.handlers import begins
from tests.reliability.torture.plan import Payment, payment

__all__ = ["OLDER_LOOK", "notice", "send_next", "signed", "take_notice"]

OLDER_LOOK = "older-look"
"""The control that answers a notice from the look before it."""
OVERTAKES = 0.5
"""The share of notices that are sent while a look is under way."""
LATEST = 5
"""A notice is mostly sent at once: one of so many, the latest."""
_folder = Path(settings.RUN["folder"]) / "notices"


def notice(reference: str) -> bytes:
    """Write the body of a `charge.success`."""
    return json.dumps({"event": "charge.success", "data": {"reference": reference}}).encode()


def take_notice(reference: str) -> str:
    """Let the path take a notice whose signature was good; the outcome."""
    found = confirm_event(notice(reference))
    return "ignored" if found is None else str(found.outcome)


_made: list[Payment] = []
_unsent: list[str] = []


def send_next(
    newest: int, *, look: Callable[[str], object], tell: Callable[[str], str | None]
) -> None:
    """Send one of the notices that were not answered yet, among those of the payments until then.

    For a process of one thread.
    """
    while len(_made) <= newest:
        _made.append(payment(settings.RUN["seed"], len(_made), settings.RUN["token"]))
        if _made[-1].by_notice:
            _unsent.append(_made[-1].reference)
    _unsent[:] = [reference for reference in _unsent if not (_folder / reference).exists()]
    if _unsent:
        _send(random.choice(_unsent[-LATEST:]), look=look, tell=tell)
    else:
        time.sleep(0.02)


def _send(
    reference: str, *, look: Callable[[str], object], tell: Callable[[str], str | None]
) -> None:
    """Tell the site that a reference is paid.

    `tell` returns the outcome that the notice was answered with, None for no answer. What could
    not be taken (the database or the service is away) is sent again, as the service does. Who is
    killed meanwhile has sent nothing: somebody else will.
    """
    under_way = None
    if random.random() < OVERTAKES:
        under_way = threading.Thread(target=_look, args=(look, reference))
        under_way.start()
        time.sleep(random.uniform(0, 0.03))
    outcome = _answer_from_older_look(reference) or tell(reference)
    if under_way is not None:
        under_way.join()
    if outcome is None:
        return
    begins.say("told", reference, outcome)
    if outcome != Outcome.UNAVAILABLE:
        begins.say("signed", reference, outcome)
        (_folder / reference).touch()


def signed() -> Iterator[tuple[str, str]]:
    """Read which references a signed notice has named, and what it was answered with."""
    for kind, *words in begins.lines():
        if kind == "signed":
            yield words[0], words[1]


def _look(look: Callable[[str], object], reference: str) -> None:
    close_old_connections()
    try:
        look(reference)
    except Exception as error:  # noqa: BLE001 - the checker judges it
        begins.say("error", type(error).__name__, error)
    finally:
        close_old_connections()


def _answer_from_older_look(reference: str) -> str | None:
    """Do it wrong, as a control: what was asked about before is not asked about after a notice."""
    if settings.RUN["control"] != OLDER_LOOK:
        return None
    try:
        row = Verification.objects.filter(reference_key=reference_key(reference)).first()
    except (DatabaseError, InterfaceError):
        return str(Outcome.UNAVAILABLE)
    if row is None or row.state == VerificationState.SETTLED:
        return None
    return str(Outcome.NOT_PAID)
