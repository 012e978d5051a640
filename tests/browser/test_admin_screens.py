"""Every screen of the admin, in each language: what axe, a narrow window and a reader find."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from example_project.demo.screens import admin_screens
from payments_pages.sandbox import Sandbox
from tests.browser.axe import in_all_variants
from tests.browser.baseline import allowed
from tests.browser.staff import furnish, sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
]


@pytest.fixture
def furnished(shop: str, sandbox: Sandbox, settings: Any, tmp_path: Path) -> str:
    """The example project with the demo's history; its address."""
    furnish(sandbox, settings, tmp_path)
    return shop


@pytest.fixture(params=["en", "ar"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def listen(page: Page) -> list[str]:
    """Gather errors of scripts, and what the browser refuses or cannot load."""
    troubles: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # Stock admin names no icon, so a browser asks for the site's, which this site has not.
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            troubles.append(f"{page.url}: {message.text}")

    page.on("console", hear)
    page.on("pageerror", lambda error: troubles.append(f"{page.url}: {error}"))
    return troubles


def test_axe_finds_nothing_beyond_stock_admin_and_nothing_sticks_out(
    furnished: str, browser: Browser, language: str
) -> None:
    page = browser.new_page(locale=language)
    troubles = listen(page)
    sign_in(page, furnished)
    known = allowed(page, furnished)
    beyond: dict[str, list[str]] = {}
    for screen in admin_screens():
        answer = page.goto(furnished + screen.path)
        assert answer is not None
        assert answer.status == 200, screen.name
        assert page.locator("#content h1").count() == 1, screen.name
        for variant, found in in_all_variants(page):
            if sideways(page):
                found |= {"sticks out sideways"}
            for finding in found - known:
                beyond.setdefault(finding, []).append(f"{screen.name} {variant}")
    lines = [f"{finding}: {', '.join(where)}" for finding, where in sorted(beyond.items())]
    assert not lines, "\n".join(lines)
    assert not troubles, "\n".join(troubles)


def sideways(page: Page) -> bool:
    """Tell whether the page is wider than the window."""
    return bool(
        page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    )
