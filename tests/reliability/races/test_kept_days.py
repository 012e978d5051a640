"""Kept days beside rivals, recorders that are under way, and crashes at any point."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, connections
from django.db import transaction as db_transaction
from django.db.models import F
from django.test import override_settings

from payments_pages.choices import Door, VerificationState
from payments_pages.confirmation import end_old_claims, mirror, verification
from payments_pages.db import retry_transient
from payments_pages.models import KeptDay, LateChange, Transaction, Verification
from payments_pages.references import reference_key
from payments_pages.staff import compare_days, day_bounds, keep_days, kept_days
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.reliability.crash.points import BREAKS, Break, Points
from tests.unit.staff.test_kept_days import is_right, merged, on, record, standing

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

IS_SERIALIZABLE = (
    os.environ.get("TESTS_ISOLATION") == "serializable"
    and "postgresql" in connection.settings_dict["ENGINE"]
)

DAY = 86_400
on_servers = pytest.mark.skipif(
    "sqlite" in connection.settings_dict["ENGINE"],
    reason="there one transaction writes at a time, and the others wait for it",
)
AT = 3
"""The day, so many days ago, that everything here happens on."""
KEPT = 2 * 3
"""Three days of both modes: enough, and each of many runs is short."""


@pytest.fixture(autouse=True)
def _few_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_days, "day_bounds", lambda: day_bounds(days=5))


def keep_in_new_york() -> int:
    with override_settings(TIME_ZONE="America/New_York"):
        return keep_days()


RIVALS: dict[str, Callable[[], Any]] = {
    "records a late payment": lambda: record(paid_at=on(AT, 1), amount=7),
    "changes an old one": lambda: record("OLD", paid_at=on(AT), status="reversed"),
    "moves an old one": lambda: record("OLD", paid_at=on(AT + 1)),
    "keeps the days": lambda: keep_days(rebuild=True),
    "keeps the days of another zone": keep_in_new_york,
    "records and keeps": lambda: (record(paid_at=on(AT, 1)), keep_days()),
}


def begin_anew() -> None:
    """Delete all rows. PostgreSQL at serializable may undo what nobody else has touched."""
    for model in (KeptDay, LateChange, Transaction):
        rows = model.objects.all()
        retry_transient(lambda _number, rows=rows: rows.delete(), using=connection.alias)


def one_day_left() -> None:
    """Keep all days, of which one must then be kept anew."""
    record("OLD", paid_at=on(AT))
    keep_days()
    record(paid_at=on(AT, 2), amount=5)
    assert standing() == KEPT - 1


@contextmanager
def before_statement(
    number: int, action: Callable[[], Any], *, waits: bool = False
) -> Iterator[list[str]]:
    """Let a rival do all of `action` before our n-th statement; the list gets our statements.

    A rival that `waits` for a transaction of ours only begins then; on SQLite all writers do.
    """
    seen: list[str] = []
    jobs: list[Future[Any]] = []

    def step(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        seen.append(sql)
        if len(seen) == number:
            jobs.append(in_thread(action))
            if not (connection.in_atomic_block and (waits or connection.vendor == "sqlite")):
                jobs[0].result(timeout=30)
        return execute(sql, *arguments)

    try:
        with connection.execute_wrapper(step):
            yield seen
    finally:
        for job in jobs:
            job.result(timeout=30)


@pytest.mark.parametrize("rival", RIVALS)
def test_a_rival_may_come_before_any_statement_of_who_keeps_a_day(rival: str) -> None:
    statements, number = 1, 0
    while number < statements:
        begin_anew()
        one_day_left()
        with before_statement(number, RIVALS[rival], waits="keep" in rival) as seen:
            keep_days(most=1)
        if number == 0:  # without a rival
            statements = len(seen)
        assert is_right(), seen[number - 1]
        assert compare_days() == []
        keep_days()
        assert is_right()
        assert standing() == KEPT
        assert not LateChange.objects.exists()
        number += 1
    assert statements > 8


@pytest.mark.parametrize("first_time", [True, False])
def test_many_who_keep_the_same_days_at_once_keep_them_once(first_time: bool) -> None:
    for day in (2, 3, 4):
        record(paid_at=on(day))
    if not first_time:
        keep_days()
        for day in (2, 3, 4):
            record(paid_at=on(day))
    start = threading.Barrier(4)

    def keep() -> int:
        try:
            start.wait()
            return keep_days()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        counts = [future.result() for future in [pool.submit(keep) for _number in range(4)]]
    assert sum(counts) <= 4 * KEPT
    assert is_right()
    keep_days()
    assert standing() == KeptDay.objects.count() == KEPT
    assert not LateChange.objects.exists()


@pytest.mark.skipif(
    IS_SERIALIZABLE,
    reason="there the server undoes most of what four do at once (docs/torture.md)",
)
def test_the_totals_are_right_while_payments_change_and_days_are_kept() -> None:
    """Each writer's figures only grow: what a view shows lies between two plain sums."""
    stop = threading.Event()

    def work(act: Callable[[int], Any]) -> int:
        done = 0
        try:
            while not stop.is_set():
                # The server may undo one of them several times in a row.
                with suppress(OperationalError):
                    act(done)
                    done += 1
        finally:
            connections.close_all()
        return done

    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(work, lambda number: record(f"A-{number}", paid_at=on(2 + number % 5))),
            pool.submit(work, lambda number: record(f"B-{number}", paid_at=on(2 + number % 3))),
            pool.submit(work, lambda _number: keep_days()),
            pool.submit(work, lambda _number: keep_days(rebuild=True, most=6)),
        ]
        end = time.monotonic() + 3
        differences: list[Any] = []
        try:
            while time.monotonic() < end and not any(job.done() for job in jobs):
                with suppress(OperationalError):
                    differences += compare_days()
        finally:
            stop.set()
    assert differences == []
    assert all(job.result() > 0 for job in jobs)
    assert is_right()
    keep_days()
    assert standing() == KEPT
    assert is_right()


# Recorders that are under way


@contextmanager
def under_way(write: Callable[[], Any]) -> Iterator[Callable[[], None]]:
    """Let a thread do `write` in a transaction that stays open; yield what lets it commit."""
    written, go_on = threading.Event(), threading.Event()

    def work() -> None:
        with db_transaction.atomic():
            write()
            written.set()
            assert go_on.wait(30)

    job = in_thread(work)

    def commit() -> None:
        go_on.set()
        job.result(timeout=30)

    try:
        assert written.wait(10) or job.result()
        yield commit
    finally:
        go_on.set()
    job.result(timeout=30)


@on_servers
@pytest.mark.parametrize("first_time", [True, False])
def test_a_late_payment_under_way_is_noted_when_it_commits(first_time: bool) -> None:
    record("OLD", paid_at=on(AT))
    if not first_time:
        keep_days()
    row, before = merged("OLD", paid_at=on(AT), status="reversed")
    with under_way(lambda: mirror.write(row, before=before)) as commit:
        assert keep_days() == (KEPT if first_time else 0), "nobody waits"
        assert is_right()
        commit()
    assert standing() == KEPT - 1
    assert is_right()
    assert keep_days() == 1
    assert is_right()


@on_servers
@pytest.mark.skipif(
    IS_SERIALIZABLE,
    reason="there the server undoes others while one transaction stays open (docs/torture.md)",
)
def test_who_records_never_waits_for_who_keeps_days() -> None:
    """Nor the other way round: both write notes, and neither row nor gap is shared."""
    one_day_left()
    record("OTHER", paid_at=on(AT))
    row, before = merged("OTHER", paid_at=on(AT), status="reversed")
    with under_way(lambda: mirror.write(row, before=before)):
        begun = time.monotonic()
        for number in range(5):
            record(paid_at=on(AT), amount=number)
            assert keep_days() >= 1
        with before_statement(1, lambda: record(paid_at=on(AT))):
            assert keep_days() >= 1
        # A lock would be waited for until the other gives up.
        assert time.monotonic() - begun < 30
        assert is_right()
    assert is_right()


def begin_long_ago(reference: str, days: float) -> verification.Claim:
    """Take the claim to ask, and let so much time pass."""
    _row, claim = verification.receive(
        reference, reference_key(reference), door=Door.WEBHOOK, page_hint=None, vouched=True
    )
    assert claim is not None
    let_time_pass(days * DAY)
    return claim


def settle_and_write(claim: verification.Claim, row: Transaction) -> None:
    assert verification.settle(claim, settled=True, status="success")
    mirror.write(row, before=None)


@on_servers
def test_a_handler_that_hung_for_days_does_not_make_a_kept_day_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its payment was new when it was written, so there is no note. Days are not kept meanwhile."""
    claim = begin_long_ago("HUNG", days=AT - 1)
    row, _before = merged("HUNG", paid_at=on(AT))
    with monkeypatch.context() as then:
        then.setattr(mirror, "LATE", mirror.LATE * 20)
        with under_way(lambda: settle_and_write(claim, row)) as commit:
            keep_days()
            ends = KeptDay.objects.standing().values_list("until", flat=True)
            assert 0 < len(ends) < KEPT, "what was over when it began is kept"
            assert max(ends) == day_bounds()[-2 - AT]
            assert is_right()
            commit()
    assert not LateChange.objects.exists()
    assert is_right()
    keep_days()
    assert standing() == KEPT
    assert is_right()


def test_the_claim_of_a_dead_caller_is_ended_and_stops_nothing() -> None:
    begin_long_ago("DEAD", days=10)
    assert keep_days() == KEPT
    assert Verification.objects.get().state == VerificationState.DUE
    assert Verification.objects.due().exists(), "as it was before: the sweep asks"


def test_a_caller_that_slept_for_days_records_nothing() -> None:
    claim = begin_long_ago("SLEPT", days=10)
    keep_days()
    with db_transaction.atomic():
        assert not verification.settle(claim, settled=True, status="success")


def test_a_claim_that_is_still_in_use_is_not_ended() -> None:
    begin_long_ago("LONG", days=10)
    Verification.objects.update(next_at=F("next_at") + (day_bounds()[-1] - day_bounds()[-20]))
    assert not end_old_claims(day_bounds()[-2])
    assert Verification.objects.get().state == VerificationState.VERIFYING


# Crashes


class Crash(Exception):
    """The process ends here."""


def die(_step: Callable[[], Any]) -> Any:
    if not connection.in_atomic_block:  # at the COMMIT, Django has left the block already
        connection.connection.rollback()
    raise Crash


def die_after(step: Callable[[], Any]) -> Any:
    step()
    raise Crash


@pytest.mark.parametrize("broken", [die, die_after, *BREAKS.values()])
@pytest.mark.parametrize("first_time", [True, False])
def test_a_crash_at_any_point_leaves_days_unkept_and_never_wrong(
    first_time: bool, broken: Break
) -> None:
    """Of the process, before or after the step; or of the line to the database."""
    number, reached = 0, True
    while reached:
        number += 1
        begin_anew()
        if first_time:
            record(paid_at=on(AT))
        else:
            one_day_left()
            long_ago = day_bounds(days=20)
            KeptDay.objects.create(domain="test", since=long_ago[0], until=long_ago[1], version=1)
            LateChange.objects.create(domain="test", paid_at=long_ago[0])
        points = Points(number, broken)
        with suppress(Crash, DatabaseError), points.watch():
            keep_days(most=2)
        connection.close()
        reached = points.hit
        assert is_right(), points.seen
        assert compare_days() == []
        keep_days(rebuild=True)
        assert is_right()
        assert standing() == KeptDay.objects.count() == KEPT
        assert not LateChange.objects.exists()
    assert number > 8
