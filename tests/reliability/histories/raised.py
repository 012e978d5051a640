"""Let errors come out of the path, of sweeps and of doors."""

import sqlite3
from collections.abc import Callable
from typing import Any

from django.db import OperationalError, ProgrammingError, connection

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Verification
from tests.reliability.histories.stage import OPEN, PAID, Stage, told
from tests.reliability.torture import worker
from tests.reliability.torture.visits import visit_site


@told()
def an_error_comes_out(stage: Stage) -> None:
    worker._note_error(worker._visit, ValueError("no such thing"))


@told()
def the_database_is_away_in_the_path(stage: Stage) -> None:
    worker._note_error(worker._visit, _away())


@told()
def the_database_is_away_in_a_sweep(stage: Stage) -> None:
    worker._note_error(worker._sweep, _away())


@told()
def a_sweep_meets_a_fault(stage: Stage) -> None:
    worker._note_error(worker._sweep, ProgrammingError("no such table"))


def _away() -> Exception:
    """Make the error of a database server that is gone, as this database's driver does."""
    if connection.vendor == "mysql":
        return OperationalError(2013, "Lost connection to server during query")
    if connection.vendor == "postgresql":
        return OperationalError("server closed the connection unexpectedly")
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    error = OperationalError("database is locked")
    error.__cause__ = busy
    return error


def _break_claims(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
    if sql.startswith("UPDATE") and "payments_pages_verification" in sql:
        raise ProgrammingError("no such column")
    return execute(sql, *arguments)


@told()
def a_row_raises_in_a_sweep(stage: Stage) -> None:
    stage.sandbox.pay("tea-box", reference=OPEN)
    stage.sandbox.faults.add(operation="verify", kind="status", status=503)
    confirm_payment(OPEN, door=Door.WEBHOOK, vouched=True)
    stage.sandbox.faults.clear()
    # On a slow machine the other references are due again by now, and would raise, too.
    Verification.objects.exclude(reference=OPEN).update(next_at="2999-01-01T00:00Z")
    Verification.objects.filter(reference=OPEN).update(next_at="2026-01-01T00:00Z", asked_at=None)
    with connection.execute_wrapper(_break_claims):
        worker._sweep()


@told()
def a_door_answers_500(stage: Stage) -> None:
    stage.site.status = 500  # type: ignore[attr-defined]
    visit_site(PAID)


@told()
def a_door_answers_503(stage: Stage) -> None:
    stage.site.status = 503  # type: ignore[attr-defined]
    visit_site(PAID)
