"""A site that uses a sandbox for the time of a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.test import override_settings

from payments_pages.client import GATES
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page
from payments_pages.sandbox import Sandbox

__all__ = ["configured", "make_page", "sandboxed"]

SITE_URL = "https://testserver"
"""Where payers come back to without `SITE_URL` in your settings: the host of Django's test client."""


@contextmanager
def configured(**keys: Any) -> Iterator[None]:
    """Change keys of `PAYMENTS_PAGES` for a block; None removes a key."""
    changed = {**getattr(settings, "PAYMENTS_PAGES", {}), **keys}
    kept = {key: value for key, value in changed.items() if value is not None}
    with override_settings(PAYMENTS_PAGES=kept):
        yield


@contextmanager
def sandboxed(**account: Any) -> Iterator[Sandbox]:
    """Run a sandbox for a block, and let this site use it as its service.

    Keywords are settings of the sandbox's account, such as `currency="JOD"` or
    `secret_key="sk_live_…"`. It replaces the key, the mode, the URLs and the signature of
    webhooks in your settings; all others stay, your handler among them. Breakers are closed before
    and after.
    """
    with Sandbox(**account) as sandbox:
        GATES.forget()
        known = sandbox.state.account
        with configured(
            SECRET_KEY=known.secret_key,
            MODE=known.domain,
            BASE_URL=sandbox.base_url,
            PAY_URL=sandbox.pay_url,
            SITE_URL=getattr(settings, "PAYMENTS_PAGES", {}).get("SITE_URL") or SITE_URL,
            WEBHOOK_HEADER=known.webhook_header,
            WEBHOOK_ALGORITHM=known.webhook_algorithm,
            WEBHOOK_SECRETS=(known.signing_secret,),
        ):
            yield sandbox
        GATES.forget()


def make_page(*, name: str = "Tea box", amount: int | None = 10000, **more: Any) -> PaymentPage:
    """Create a page through the service, as staff do in the admin, and return its mirror.

    `amount` is minor units of the account's currency; None: the payer chooses. Further keywords
    are those of `payments_pages.pages.create_page`. Raise what that raises.
    """
    return create_page(name=name, amount=amount, **more)
