"""Wait for a rival: another caller that works on the same reference at this moment."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from payments_pages.client import PATIENCE, Bulkhead
from payments_pages.conf import conf

__all__ = ["RIVAL_PATIENCE", "poll", "wait_while"]

RIVAL_PATIENCE = 2.0
"""Seconds for which a caller waits for a rival's result, before it says "being processed"."""

_WAITING: Final = Bulkhead()

Read = TypeVar("Read")


def poll(read: Callable[[], Read], is_busy: Callable[[Read], bool]) -> Read:
    """Read, and read again while the result shows a busy rival; return the last result.

    This takes `RIVAL_PATIENCE` seconds at most. The pauses before the reads grow from 0.02 to 0.25
    seconds.
    """
    give_up = time.monotonic() + RIVAL_PATIENCE
    pause = 0.02
    while is_busy(found := read()) and time.monotonic() < give_up:
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)
    return found


def wait_while(read: Callable[[], Read], is_busy: Callable[[Read], bool]) -> Read:
    """Read like `poll`, for a rival whose handler runs: that may take long.

    At most `MAX_CALLS` threads of a process wait here at the same time, so that one payer who
    reloads a page cannot occupy all of them. A caller that finds no free place waits a moment for
    one, then returns at once.
    """
    found = read()
    if not is_busy(found) or not _WAITING.enter(conf.limits.max_calls, patience=PATIENCE):
        return found
    try:
        return poll(read, is_busy)
    finally:
        _WAITING.leave()
