"""The strategies of the state machine: references, payments, faults, and how a process ends.

And what makes a payment right, in the model's own words: the package's rule is not asked.
"""

from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from typing import Any

from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import strategies as st

__all__ = [
    "FAILED",
    "HONEST",
    "PAGE_REFERENCES",
    "POPUP",
    "PRICE",
    "UNPAID",
    "Crash",
    "crash_after",
    "crash_before",
    "crashes",
    "faults",
    "is_right",
    "payments",
    "references",
    "run_command",
]

PRICE = 10_000
PAGE_REFERENCES = ("PPG-1", "PPG-2", "PPG-3")
POPUP = "popup"
"""Stands for the reference of an expected payment, which is another each time."""
FAILED = ("failed", "abandoned")
UNPAID = ("pending", "ongoing", "queued", *FAILED)
"""Statuses after which a payment may become a success."""
HONEST = {"status": "success", "amount": PRICE, "currency": "ILS", "domain": "test"}
references = st.sampled_from((*PAGE_REFERENCES, POPUP))
payments = st.one_of(
    st.just(HONEST),
    st.just(HONEST),
    st.just(HONEST),
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["success", *UNPAID]),
            "amount": st.sampled_from([PRICE, PRICE + 1, PRICE - 1]),
            "currency": st.sampled_from(["ILS", "ils", "USD"]),
            "domain": st.sampled_from(["test", "live"]),
        }
    ),
)
faults = st.sampled_from(
    [
        {"kind": "status", "status": 503},
        {"kind": "status", "status": 404},
        {"kind": "html"},
        {"kind": "drop"},
        {"kind": "truncated"},
        {"kind": "wrong_reference"},
        {"kind": "patch", "data": {"status": "failed"}},
        {"kind": "patch", "envelope": {"status": False}},
        {"kind": "patch", "data": {"amount": 1}, "envelope": {"status": "true"}},
    ]
)


class Crash(BaseException):
    """The process ends here: nothing in the package may catch it."""


def crash_before(step: Callable[[], Any]) -> None:
    _end()


def crash_after(step: Callable[[], Any]) -> None:
    step()
    _end()


def _end() -> None:
    """Roll back what was not committed, as the end of a process does."""
    connection.connection.rollback()
    raise Crash


points = st.one_of(st.just(0), st.just(0), st.just(0), st.integers(1, 25))
"""The number of the statement or commit at which the process ends; 0: it does not."""
crashes = st.tuples(points, st.sampled_from([crash_before, crash_after]))


def is_right(fields: dict[str, Any]) -> bool:
    return (
        fields["status"] == "success"
        and fields["amount"] >= PRICE
        and fields["currency"].upper() == "ILS"
        and fields["domain"] == "test"
    )


def run_command(reference: str, *, refresh: bool) -> None:
    """Confirm by the command, whose exit code says "not delivered"."""
    with suppress(CommandError):
        call_command("payments_pages_confirm", reference, refresh=refresh, stdout=StringIO())
