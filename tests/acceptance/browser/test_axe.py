"""Axe is asked in the dark about colours, and in the light about all else."""

import pytest
from playwright.sync_api import BrowserContext

from tests.acceptance.browser.axe import in_all_variants

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HTML = """
<!DOCTYPE html>
<html lang="en">
<title>Tea</title>
<style>
    @media (prefers-color-scheme: dark) { p { color: #777; background: #666 } }
    @media (min-width: 600px) { button { display: none } }
</style>
<main><h1>Tea</h1><p>Too pale in the dark</p><button></button></main>
</html>
"""


def test_what_is_wrong_in_one_variant_alone_is_found(context: BrowserContext) -> None:
    page = context.new_page()
    page.set_content(HTML)
    found = dict(in_all_variants(page))
    pale, nameless = "color-contrast in p", "button-name in button"
    assert found["light 1280"] == set()
    assert found["light 390"] == {nameless}
    assert found["dark 1280"] == {pale}
    assert pale in found["dark 390"]
