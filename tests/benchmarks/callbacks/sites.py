"""List the sites that are measured."""

from tests.benchmarks.callbacks.servers import Site

__all__ = ["FLOOR", "OURS", "RIGHT_FLOOR", "peer_sites", "sites"]

FLOOR, RIGHT_FLOOR, OURS = "floor", "right floor", "payments_pages"


def sites() -> list[Site]:
    """Return both floors and ours."""
    return [
        Site(
            FLOOR,
            "tests.benchmarks.floor",
            query="/query/?reference={0}",
            webhook="/webhook/",
            signature="sha256",
        ),
        Site(RIGHT_FLOOR, "tests.benchmarks.right_floor", webhook="/webhook/", signature="sha256"),
        Site(OURS, "tests.benchmarks.ours", webhook="/payments/webhook/", signature="sha256"),
    ]


def peer_sites(python: str) -> list[Site]:
    """Return the peers, which an environment of their own runs."""
    return [
        Site(
            "django-paystack-wallet",
            "tests.benchmarks.peers.wallet_site",
            python,
            webhook="/wallet/webhook/",
            signature="sha512",
        ),
        Site("django-payments", "tests.benchmarks.peers.payments_site", python),
        Site(
            "paystack-django",
            "tests.benchmarks.peers.paystack_site",
            python,
            webhook="/paystack/webhook/",
            signature="sha512",
        ),
        Site(
            "dj-stripe",
            "tests.benchmarks.peers.stripe_site",
            python,
            callbacks=False,
            webhook="/stripe/webhook/00000000-0000-4000-8000-000000000001/",
            signature="stripe",
        ),
    ]
