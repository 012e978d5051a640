"""Let the service change its mind about a payment, let days go by, and count sweeps."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from django.http import HttpResponse

from payments_pages.confirmation import sweep_due
from payments_pages.models import Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good
from tests.support.webhook_signing import event, post

__all__ = [
    "DAY",
    "HOUR",
    "MINUTE",
    "REFERENCE",
    "answer",
    "days",
    "during_a_look",
    "is_on_record",
    "notice",
    "pass_minutes",
    "sweeps_until_given",
]

REFERENCE = "PPG-1"
MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR


def answer(sandbox: Sandbox, what: str) -> None:
    """Let verify answer with a status from now on; "404" is an unknown reference, "500" an error."""
    sandbox.faults.clear()
    if what in {"404", "500"}:
        sandbox.faults.add(operation="verify", kind="status", status=int(what))
    elif sandbox.transaction(REFERENCE) is None:
        pay(sandbox, reference=REFERENCE, status=what)
    else:
        sandbox.set_transaction(REFERENCE, status=what)


def during_a_look(
    sandbox: Sandbox, older: str, look: Callable[[], Any], say: Callable[[], Any]
) -> Any:
    """Let somebody speak while a look is under way whose answer is older; return what they got.

    The service has made its answer, then the payment is a success and `say` is called by another
    thread, and only then the answer comes.
    """
    said: list[Future[Any]] = []

    def meanwhile() -> None:
        answer(sandbox, "success")
        said.append(in_thread(say))
        time.sleep(0.4)  # who speaks has lost the claim by then, and waits or has given up waiting

    answer(sandbox, older)
    sandbox.faults.clear()
    sandbox.faults.add(operation="verify", kind="run", function=meanwhile, times=1)
    if older in {"404", "500"}:
        sandbox.faults.add(operation="verify", kind="status", status=int(older), times=1)
    look()
    return said[0].result(timeout=30)


def notice() -> HttpResponse:
    """Bring the service's signed `charge.success`."""
    return post(event(REFERENCE))


def days(count: float, *, sweeps_a_day: int = 4) -> Iterator[None]:
    """Let days go by with so many sweeps each; yield after each sweep."""
    for _sweep in range(round(count * sweeps_a_day)):
        let_time_pass(DAY / sweeps_a_day)
        sweep_due()
        yield


def pass_minutes(seconds: float) -> None:
    """Let time go by with a sweep a minute in its last ten minutes, and one before those."""
    early = max(0.0, seconds - 10 * MINUTE)
    if early:
        let_time_pass(early)
        sweep_due()
    left = seconds - early
    while left >= MINUTE:
        let_time_pass(MINUTE)
        sweep_due()
        left -= MINUTE
    let_time_pass(left)


def sweeps_until_given(*, limit: int) -> int:
    """Sweep each minute until the value is given, once; return how many sweeps that took."""
    for number in range(1, limit + 1):
        let_time_pass(MINUTE)
        sweep_due()
        given = Good.objects.count()
        assert given <= 1
        if given:
            return number
    row = Verification.objects.filter(reference=REFERENCE).first()
    kept = "no row" if row is None else f"{row.state}, next ask at {row.next_at}"
    status = Transaction.objects.filter(reference=REFERENCE).values_list("status", flat=True)
    raise AssertionError(f"not given after {limit} sweeps: {kept}, mirrored as {list(status)}")


def is_on_record() -> bool:
    """Say whether the reference is still asked about or settled: not given up, not forgotten."""
    return Verification.objects.filter(
        reference=REFERENCE, state__in=["due", "verifying", "settled"]
    ).exists()
