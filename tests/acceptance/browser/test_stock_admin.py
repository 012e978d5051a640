"""What axe finds in Django's own admin is written down, and is what it really finds.

`AXE_BASELINE=write pytest tests/acceptance/browser/test_stock_admin.py` measures it anew and writes it.
"""

import os

import pytest
from playwright.sync_api import BrowserContext

from tests.acceptance.browser.baseline import BASELINE, SERIES, measure, read, write
from tests.acceptance.browser.staff import sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]


def test_the_written_baseline_is_what_axe_finds_in_stock_admin(
    context: BrowserContext, shop: str
) -> None:
    page = context.new_page()
    sign_in(page, shop)
    measured = measure(page, shop)
    if os.environ.get("AXE_BASELINE") == "write":
        write(measured)
    if read()["django"] != SERIES:
        # Written on one series of Django; on another nothing else may be worse of what we touch.
        assert measured, f"{BASELINE.name} is of another Django, and axe sees nothing on this one"
        return
    assert measured == read()["found"]
