"""What a racing process does: the path itself, or the naive way without a guard."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, connections

from payments_pages.choices import Door, Outcome
from payments_pages.client import get_client
from payments_pages.confirmation import confirm_payment, rivals, sweep_due, verification
from tests.support.goods.models import Good

__all__ = ["run"]

Row = dict[str, Any]


def run(job: dict[str, Any]) -> list[Row]:
    """Run a job in `job["threads"]` threads at the same moment; one row of outcome for each.

    Where processes are slow to start, "at once" may last longer than the two seconds after which
    a reference may be asked about again.
    """
    verification.ASK_AT_MOST_EVERY = 60.0
    count = int(job.get("threads", 1))
    if count == 1:
        return [_outcome(job, lambda: None)]
    start = threading.Barrier(count)
    rows: list[Row] = []
    threads = [
        threading.Thread(target=lambda: rows.append(_outcome(job, start.wait)))
        for _number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rows


def _outcome(job: dict[str, Any], wait: Callable[[], object]) -> Row:
    _connect()
    if job.get("die_commit"):
        _die_at_commit(job["die_commit"], after=job["after"])
    time.sleep(max(0.0, job.get("start_at", 0.0) - time.time()))
    wait()
    started = time.monotonic()
    try:
        with connection.execute_wrapper(_Killer(job.get("die_at", 0), job.get("die_on", ""))):
            outcome = _WAYS[job.get("way", "guarded")](job)
        return {"outcome": outcome, "seconds": time.monotonic() - started}
    except Exception as error:  # noqa: BLE001 - the parent judges it
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        connections.close_all()


def _connect() -> None:
    """Connect; wait while the server has no room for one connection more."""
    give_up = time.monotonic() + 20
    while True:
        try:
            connection.ensure_connection()
        except OperationalError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.1)
        else:
            return


def _guarded(job: dict[str, Any]) -> str:
    token = job.get("token")
    found = confirm_payment(
        job["reference"], door=Door.CALLBACK, page_token=UUID(token) if token else None
    )
    return str(found.outcome)


def _naive(job: dict[str, Any]) -> str:
    """Check, verify, act: the guard turned off."""
    reference = job["reference"]
    if Good.objects.filter(reference=reference).exists():
        return "already_delivered"
    resource = get_client().verify_transaction(reference)
    if resource.status == "success":
        Good.objects.create(reference=reference, key=UUID(int=0), attempt=1)
    return "delivered"


def _importune(job: dict[str, Any]) -> list[str]:
    """Sweep and come back, in turn, until the payment is delivered; what was answered."""
    rivals.RIVAL_PATIENCE = 0.1
    answers: list[str] = []
    end = time.monotonic() + 60
    while time.monotonic() < end and str(Outcome.ALREADY_DELIVERED) not in answers:
        answers += [str(outcome) for outcome in sweep_due().outcomes]
        answers.append(_guarded(job))
    return answers


def _sweep(job: dict[str, Any]) -> dict[str, int]:
    """Sweep once, as one that cron has started."""
    return {str(outcome): count for outcome, count in sweep_due().outcomes.items()}


_WAYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "guarded": _guarded, "naive": _naive, "importune": _importune,
    "sweep": _sweep,
}  # fmt: skip


def _die_at_commit(number: int, *, after: bool) -> None:
    """End the process at the n-th commit of a transaction: just before it, or once it is done."""
    commit, left = connection.commit, [number]

    def die() -> None:
        left[0] -= 1
        if after:
            commit()
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if not after:
            commit()

    connection.commit = die  # type: ignore[method-assign] - this process is about to die


class _Killer:
    """End the process, uncatchably, before its n-th statement or the first that holds a text."""

    def __init__(self, number: int, text: str) -> None:
        self.left = number
        self.text = text

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        self.left -= 1
        if self.left == 0 or (self.text and self.text in sql):
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(sql, params, many, context)
