"""A real Chromium against the real example project and the real sandbox."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from example_project.secret_key import random_card_key
from payments_pages.sandbox import Sandbox
from tests.support.chromium import find_chromium

# A busy machine is slow, not wrong.
expect.set_options(timeout=20_000)

ARGUMENTS = [
    "--no-sandbox",  # as root in a container there is no other way
    "--disable-gpu",
    "--renderer-process-limit=1",  # a process for each page opened would compile axe each time
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def browser(
    shop: str,  # first: the database is set up, and torn down, without the browser's event loop
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Browser]:
    """One for each test: while it lives, its event loop would get in other tests' way."""
    monkeypatch.setitem(os.environ, "DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def shop(live_server: Any, sandbox: Sandbox, settings: Any, configure: Any) -> str:
    """The example project over HTTP; returns its address."""
    settings.ROOT_URLCONF = "example_project.urls"
    configure(
        SITE_URL=live_server.url,
        HANDLER="example_project.shop.handlers.deliver",
        # The demo's history has a buyer who keeps a card.
        SAVE_CARD="example_project.shop.cards.owner",
        CARD_KEYS=[random_card_key()],
    )
    User.objects.create_superuser("admin", "payer@example.test", "open sesame")
    return str(live_server.url)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport={"width": 1280, "height": 900}, locale="en") as context:
        context.set_default_timeout(15_000)
        yield context
