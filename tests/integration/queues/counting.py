"""Count what workers have delivered."""

from payments_pages.choices import FulfilmentState
from payments_pages.models import Fulfilment
from tests.support.goods.models import Good

__all__ = ["delivered", "goods_once"]


def delivered() -> int:
    return Fulfilment.objects.filter(state=FulfilmentState.DELIVERED).count()


def goods_once(references: list[str]) -> bool:
    """Say whether each reference was given once, and nothing else was."""
    return sorted(Good.objects.values_list("reference", flat=True)) == sorted(references)
