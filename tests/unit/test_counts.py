"""Counts as commands print them."""

import pytest

from payments_pages.counts import counted


@pytest.mark.parametrize(
    ("number", "pages", "addresses"),
    [(0, "0 pages", "0 addresses"), (1, "1 page", "1 address"), (21, "21 pages", "21 addresses")],
)
def test_one_is_the_singular_and_every_other_number_the_plural(
    number: int, pages: str, addresses: str
) -> None:
    assert counted(number, "page") == pages
    assert counted(number, "address", "addresses") == addresses
