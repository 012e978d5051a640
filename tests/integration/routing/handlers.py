"""A handler that follows the relations of what it is given."""

from payments_pages.models import Fulfilment
from tests.support.goods.handlers import give


def give_what_the_page_sells(fulfilment: Fulfilment) -> None:
    assert fulfilment.transaction.page.slug == "tea-box"
    give(fulfilment)


def fail_first(fulfilment: Fulfilment) -> None:
    give_what_the_page_sells(fulfilment)
    if fulfilment.attempts == 1:
        raise RuntimeError("the first attempt fails")
