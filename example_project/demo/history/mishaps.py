"""Let the shop's handler fail for a while, as if what it needs did not answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from django.conf import settings
from django.test.utils import override_settings

from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment

__all__ = ["failing", "print_nothing", "sell_nothing"]


def print_nothing(_fulfilment: Fulfilment) -> NoReturn:
    """Fail as a handler does whose tickets are printed elsewhere."""
    raise TimeoutError("The ticket printer does not answer.")


def sell_nothing(_fulfilment: Fulfilment) -> NoReturn:
    """Fail as a handler does that will never succeed."""
    raise PermanentFulfilmentError("All seats of this evening have been given.")


@contextmanager
def failing(handler: str = "", **keys: Any) -> Iterator[None]:
    """Let this process deliver by a handler of this module inside the block, or by the shop's own.

    `keys` change other settings of the app meanwhile.
    """
    chosen = {"HANDLER": f"{__name__}.{handler}", "HANDLER_ATOMIC": True} if handler else {}
    changed = {**settings.PAYMENTS_PAGES, **chosen, **keys}
    with override_settings(PAYMENTS_PAGES=changed):
        yield
