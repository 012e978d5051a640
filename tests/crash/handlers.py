"""A handler for the stories that begin with a delivery that failed."""

from payments_pages.models import Fulfilment

__all__ = ["decline"]


def decline(fulfilment: Fulfilment) -> None:
    """Fail before anything is given."""
    raise RuntimeError("not today")
