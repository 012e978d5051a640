"""Say where the service's popup comes from, and what a page that opens it may load."""

from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

from django.conf import settings

__all__ = ["content_policy", "popup_settings"]

SETTING = "POPUP"


def popup_settings() -> Mapping[str, str]:
    """Return `PUBLIC_KEY`, `INLINE_URL` (the service's script) and `START_URL` (for its form)."""
    return cast("Mapping[str, str]", getattr(settings, SETTING))


def content_policy(popup: Mapping[str, str]) -> str:
    """Return the policy that lets in the service, for what its popup needs, and nobody else."""
    origins = {_origin(popup["INLINE_URL"]), _origin(popup["START_URL"])}
    service = " ".join(sorted(origins))
    return (
        "default-src 'none'; style-src 'self'; img-src 'self'; "
        f"script-src 'self' {service}; connect-src 'self' {service}; frame-src {service}; "
        f"form-action 'self' {service}; base-uri 'none'; frame-ancestors 'none'"
    )


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
