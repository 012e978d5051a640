"""Handlers for the stories that begin with a delivery that failed."""

from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment

__all__ = ["decline", "decline_for_good"]


def decline(fulfilment: Fulfilment) -> None:
    """Fail before anything is given."""
    raise RuntimeError("not today")


def decline_for_good(fulfilment: Fulfilment) -> None:
    """Fail before anything is given, and say that no later attempt helps."""
    raise PermanentFulfilmentError("sold out")
