"""Describe the right floor's site."""

import os
from collections.abc import Sequence
from typing import Any

APPS = ["tests.benchmarks.right_floor"]
KEY = "sk_test_bench"


def settings(service: str) -> dict[str, Any]:
    """Say where the service is, what is sold, and for how many seconds a claim holds."""
    return {
        "FLOOR_SERVICE": service,
        "FLOOR_KEY": KEY,
        "FLOOR_PRICE": (10000, "ILS"),
        "FLOOR_LEASE": float(os.environ.get("BENCH_LEASE", "60")),
    }


def seed(_references: Sequence[str]) -> None:
    """Nothing is there beforehand."""


def callback() -> str:
    """Return the address of a payer who comes back, with `{}` for the reference."""
    return "/callback/?reference={0}"


def result(_location: str) -> str:
    """There is no result page: the floor's is held against ours."""
    return ""
