"""Checks of the webhook: how its messages are signed, and what it can deliver by itself."""

from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name

from payments_pages.checks.values import is_texts
from payments_pages.conf import conf
from payments_pages.signatures import ALGORITHMS

__all__ = ["check_attribution_by_webhook", "check_webhook"]


@register(Tags.security)
def check_webhook(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E017: unknown algorithm. E018: malformed secrets. W004: only one of header and algorithm."""
    messages: list[CheckMessage] = []
    header, algorithm = conf.get("WEBHOOK_HEADER"), conf.get("WEBHOOK_ALGORITHM")
    if algorithm and algorithm not in ALGORITHMS:
        hint = '"WEBHOOK_ALGORITHM": "sha256" or "sha512", as the service says'
        messages.append(
            Error(
                "PAYMENTS_PAGES['WEBHOOK_ALGORITHM'] is unknown.",
                hint=hint,
                id="payments_pages.E017",
            )
        )
    secrets = conf.get("WEBHOOK_SECRETS")
    is_written = secrets is not None and not callable(secrets)  # checks call no vault
    if is_written and not is_texts((secrets,) if isinstance(secrets, str) else secrets):
        hint = '"WEBHOOK_SECRETS": (new, old), or leave it out: then it is the secret key'
        messages.append(
            Error(
                "PAYMENTS_PAGES['WEBHOOK_SECRETS'] is malformed.",
                hint=hint,
                id="payments_pages.E018",
            )
        )
    if bool(header) != bool(algorithm):
        hint = '"WEBHOOK_HEADER": "x-lahza-signature", "WEBHOOK_ALGORITHM": "sha256"'
        message = "The webhook refuses every message until both header and algorithm are set."
        messages.append(Warning(message, hint=hint, id="payments_pages.W004"))
    return messages


@register(Tags.compatibility)
def check_attribution_by_webhook(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W024: the webhook is open, and nobody has decided what it can deliver by itself."""
    is_open = bool(conf.webhook_header) and conf.webhook_algorithm in ALGORITHMS
    if not is_open or conf.get("ATTRIBUTION") is not None:
        return []
    message = (
        "The webhook is open and ATTRIBUTION is not set: a webhook does not say which page was "
        "paid, so what a payer paid on a page and did not come back from is held for staff."
    )
    hint = (
        '"ATTRIBUTION": ("expected", "metadata", "callback"), if that is what you want; add '
        '"amount" if no two of your pages have the same price'
    )
    return [Warning(message, hint=hint, id="payments_pages.W024")]
