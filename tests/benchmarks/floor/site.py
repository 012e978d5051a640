"""Describe the floor's site."""

from collections.abc import Sequence
from typing import Any

APPS = ["tests.benchmarks.floor"]
KEY = "sk_test_bench"


def settings(service: str) -> dict[str, Any]:
    """Say where the service is."""
    return {"FLOOR_SERVICE": service, "FLOOR_KEY": KEY}


def seed(_references: Sequence[str]) -> None:
    """Nothing is there beforehand."""


def callback() -> str:
    """Return the address of a payer who comes back, with `{}` for the reference."""
    return "/callback/?reference={0}"


def result(_location: str) -> str:
    """Return the address of a result page."""
    return "/result/1/"
