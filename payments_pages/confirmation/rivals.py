"""Wait for a rival that works on the same reference, without holding every thread of a process."""

import time
from collections.abc import Callable
from typing import Final

from payments_pages.client import PATIENCE, Bulkhead
from payments_pages.conf import conf

__all__ = ["wait_while"]

_WAITING: Final = Bulkhead()


def wait_while(is_busy: Callable[[], bool], *, patience: float) -> None:
    """Look again and again for `patience` seconds at most, while a rival is busy.

    At most `MAX_CALLS` threads of a process wait so at once: reloads by one payer cannot hold
    them all. In a rush the next one waits a moment for a place, as it would for a call.
    """
    if not is_busy() or not _WAITING.enter(conf.limits.max_calls, patience=PATIENCE):
        return
    try:
        give_up = time.monotonic() + patience
        pause = 0.02
        while time.monotonic() < give_up:
            time.sleep(pause)
            if not is_busy():
                return
            pause = min(pause * 1.5, 0.25)
    finally:
        _WAITING.leave()
