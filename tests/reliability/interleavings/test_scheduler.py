"""The scheduler can tell a slow caller from one that waits for a lock."""

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from payments_pages.db import retry_transient
from tests.reliability.interleavings import scheduler
from tests.reliability.interleavings.scheduler import meetings
from tests.support.goods.models import Good

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

Action = Callable[[], Any]
KEY = UUID(int=1)


@transaction.atomic
def _touch(_number: int) -> None:
    Good.objects.filter(reference="MET").update(attempt=1)


def _write() -> None:
    retry_transient(_touch, using=connection.alias)  # as the path does: a rival may undo it


def _read_slowly() -> None:
    Good.objects.count()
    time.sleep(scheduler.PATIENCE * 3)
    Good.objects.count()


def _play(second: Action, *, half: bool = False) -> list[scheduler.Meeting]:
    Good.objects.get_or_create(reference="MET", key=KEY, attempt=0)
    played = list(meetings(lambda number: (_write, second), half=half))
    assert not [error for met in played for error in met.results if error]
    return played


def test_who_is_slow_is_not_blocked() -> None:
    """However slow: all pairs of steps are played, beside a transaction that is open too."""
    played = _play(_read_slowly)
    steps = 3 if connection.vendor == "sqlite" else 2  # its BEGIN is a statement
    assert len(played) == steps * 3 + 1  # the first that has ended meets nobody
    assert not [met for met in played if "blocked" in met.where]


def test_half_of_the_orders_are_every_second_one() -> None:
    everything = [met.where for met in _play(_read_slowly)]
    half = [met.where for met in _play(_read_slowly, half=True)]
    assert len(half) == len(everything) * 2 // 3 + 1  # of three for each step of the first, two
    assert len(set(half)) == len(half)
    # The first that has ended meets the second before another of its steps.
    paused = {where for where in half if "(paused, " in where}
    assert len(paused) == len(half) - 1
    assert paused < set(everything)


def test_who_waits_for_a_lock_is_blocked() -> None:
    """The row ends there, and the first goes on."""
    played = _play(_write)
    blocked = [met.where for met in played if met.where.endswith("(paused, blocked)")]
    # On SQLite the lock comes with BEGIN IMMEDIATE already, elsewhere with the UPDATE.
    at_once = getattr(connection, "transaction_mode", None) == "IMMEDIATE"
    assert len(blocked) == (2 if at_once else 1)


def test_who_neither_waits_nor_moves_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "LONGEST_STEP", 0.1)
    with pytest.raises(AssertionError, match="neither waits nor moves"):
        _play(lambda: time.sleep(0.5))
