"""Fixtures: a real sandbox over real HTTP, and the site's settings pointed at it."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings

from payments_pages.models import PaymentPage
from payments_pages.pages import slug_key
from payments_pages.sandbox import Sandbox

KEY = "sk_test_suite"


@pytest.fixture(scope="session")
def sandbox_server() -> Iterator[Sandbox]:
    with Sandbox(secret_key=KEY, currency="ILS") as server:
        yield server


@pytest.fixture
def sandbox(sandbox_server: Sandbox, settings: Any) -> Iterator[Sandbox]:
    """A clean sandbox that the site is configured for."""
    sandbox_server.reset()
    settings.PAYMENTS_PAGES = {
        **django_settings.PAYMENTS_PAGES,
        "SECRET_KEY": KEY,
        "BASE_URL": sandbox_server.base_url,
        "PAY_URL": sandbox_server.pay_url,
    }
    yield sandbox_server
    sandbox_server.faults.clear()


@pytest.fixture
def configure(settings: Any) -> Any:
    """Change keys of PAYMENTS_PAGES for one test; None takes a key out."""

    def change(**keys: Any) -> None:
        merged = {**settings.PAYMENTS_PAGES, **keys}
        settings.PAYMENTS_PAGES = {k: v for k, v in merged.items() if v is not None}

    return change


def mirror_page(remote: dict[str, Any]) -> PaymentPage:
    """Mirror a page of the sandbox as the app would have after creating it."""
    return PaymentPage.objects.create(
        remote_id=remote["id"],
        name=remote["name"],
        slug=remote["slug"],
        slug_key=slug_key(remote["slug"]),
        amount=remote["amount"],
        currency=remote["currency"],
        domain=remote["domain"],
        active=remote["active"],
    )


@pytest.fixture
def tea_box(db: None, sandbox: Sandbox) -> PaymentPage:
    """The page of the cases: "Tea box", 100.00 ILS."""
    return mirror_page(sandbox.add_page(name="Tea box", slug="tea-box", amount=10000))
