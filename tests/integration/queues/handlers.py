"""Handlers for workers that are to be killed at work."""

import time

from payments_pages.models import Fulfilment

__all__ = ["never_end"]


def never_end(_fulfilment: Fulfilment) -> None:
    """Work until the process is killed. For `HANDLER_ATOMIC: False`: it locks nothing meanwhile."""
    time.sleep(3600)
