"""Every screen of the admin, in each language: what axe, a narrow window and a reader find."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from example_project.demo.control import Control
from example_project.demo.screens import admin_screens
from payments_pages.sandbox import Sandbox
from tests.acceptance.browser.acts import Acts, Shot, leave, opened
from tests.acceptance.browser.axe import in_all_variants
from tests.acceptance.browser.baseline import allowed
from tests.acceptance.browser.staff import furnish, sign_in
from tests.support.scale import chosen

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


# Hebrew goes from right to left as Arabic does; its words are compared by catalogue.
@pytest.fixture(params=chosen(["en", "ar", "he"], "en", "ar"))
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
    shots = [Shot(screen.name, opened(furnished + screen.path)) for screen in admin_screens()]
    assert_nothing_beyond(shots, furnished, browser, language)


def test_nor_on_the_screens_that_are_only_seen_when_something_has_been_done(
    furnished: str, sandbox: Sandbox, browser: Browser, language: str
) -> None:
    acts = Acts(furnished, Control(sandbox.control_url), admin_screens())
    assert_nothing_beyond(acts.shots(), furnished, browser, language)


def assert_nothing_beyond(
    shots: Iterable[Shot], shop: str, browser: Browser, language: str
) -> None:
    page = browser.new_page(locale=language)
    troubles = listen(page)
    sign_in(page, shop)
    known = allowed(page, shop)
    beyond: dict[str, list[str]] = {}
    for shot in shots:
        page.set_viewport_size({"width": 1280, "height": 900})
        leave(page)
        with page.expect_response(lambda answer: answer.request.is_navigation_request()) as answer:
            shot.arrive(page)
        assert answer.value.ok, shot.name
        assert page.locator("#content h1").count() == 1, shot.name
        assert page.locator("html").get_attribute("lang") == language, shot.name
        for variant, found in in_all_variants(page, language):
            if sideways(page):
                found |= {"sticks out sideways"}
            for finding in found - known:
                beyond.setdefault(finding, []).append(f"{shot.name} {variant}")
    page.close()
    lines = [f"{finding}: {', '.join(where)}" for finding, where in sorted(beyond.items())]
    assert not lines, "\n".join(lines)
    assert not troubles, "\n".join(troubles)


def sideways(page: Page) -> bool:
    """Tell whether the page is wider than the window."""
    return bool(
        page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    )
