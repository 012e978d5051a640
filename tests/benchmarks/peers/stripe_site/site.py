"""Describe the site."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

APPS = ["djstripe", "tests.benchmarks.peers.stripe_site"]
ENDPOINT = UUID("00000000-0000-4000-8000-000000000001")


def settings(service: str) -> dict[str, Any]:
    """Use the documented settings; the service's address is one of them."""
    return {
        "STRIPE_API_HOST": service.removesuffix("/api"),
        "STRIPE_LIVE_MODE": False,
        "STRIPE_TEST_SECRET_KEY": "sk_test_onlyforabenchmark00000000",
        "STRIPE_LIVE_SECRET_KEY": "sk_live_onlyforabenchmark00000000",
        "DJSTRIPE_FOREIGN_KEY_TO_FIELD": "id",
        "SILENCED_SYSTEM_CHECKS": ["djstripe.I001"],
    }


def seed(_references: Sequence[str]) -> None:
    """Make the endpoint that its admin would make."""
    from djstripe.models import WebhookEndpoint

    WebhookEndpoint.objects.get_or_create(
        djstripe_uuid=ENDPOINT,
        defaults={
            "id": "we_bench",
            "secret": "whsec_bench",
            "url": "http://127.0.0.1/",
            "status": "enabled",
            "enabled_events": ["*"],
            "api_version": "2020-08-27",
            "livemode": False,
            "djstripe_tolerance": 3600,
        },
    )


def callback() -> str:
    """It has none."""
    return ""


def result(_location: str) -> str:
    """It has none."""
    return ""
