"""A very bad queue: it loses messages, doubles them, delays them, and invents some.

A message is a file in the run's folder, named by the moment from which it may be taken.
"""

import random
import time
import uuid
from pathlib import Path

from django.conf import settings

__all__ = ["nudge", "take"]

_folder = Path(settings.RUN["folder"]) / "messages"

DOWN, LOST, DOUBLED, FORGED = 0.05, 0.25, 0.25, 0.05
"""Of a hundred messages 5 are refused, 25 of those taken are lost, 25 doubled; to 5 a false one is added."""
LATE_BY = 2.0
"""Seconds by which a message is kept back, at most."""


def nudge(reference: str) -> None:
    """Send a reference, perhaps; what `NUDGE` names in a run with `--delivery queued`."""
    if random.random() < DOWN:
        raise ConnectionError("the queue is down")
    if random.random() < FORGED:
        _put(random.choice((f"TORTURE-{random.randint(0, 10_000)}", "FORGED-1", "not / one", "")))
    if random.random() < LOST:
        return
    for _copy in range(2 if random.random() < DOUBLED else 1):
        _put(reference)


def take() -> str | None:
    """Take the message that is due the longest, for good; None when there is none.

    A process that is killed after this has lost it.
    """
    now = time.time() * 1000
    for path in sorted(_folder.iterdir()):
        if path.suffix or int(path.name.partition("_")[0]) > now:
            continue
        try:
            reference = path.read_text(encoding="utf-8")
            path.unlink()
        except FileNotFoundError:
            continue  # another one was quicker
        return reference
    return None


def _put(reference: str) -> None:
    due = time.time() + random.uniform(0, LATE_BY)
    path = _folder / f"{int(due * 1000):015d}_{uuid.uuid4().hex}"
    fresh = path.with_suffix(".new")
    fresh.write_text(reference, encoding="utf-8")
    fresh.rename(path)
