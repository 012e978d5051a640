"""A service that keeps failing is left alone, and found again when it is back."""

import os
import threading
import time

import pytest

from payments_pages.client import Bulkhead
from payments_pages.client.resilience import MAX_KEPT, Breaker, Gates
from payments_pages.exceptions import NotAsked


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(failures=3, pause=10, clock=clock)


def break_it(breaker: Breaker) -> None:
    for _call in range(3):
        assert breaker.admit()
        breaker.fail()


def test_it_opens_after_so_many_failures_in_a_row(breaker: Breaker) -> None:
    for _round in range(4):
        breaker.fail()
        breaker.fail()
        breaker.succeed()
        assert breaker.admit()
    break_it(breaker)
    assert not breaker.admit()


def test_one_probe_goes_through_each_pause(breaker: Breaker, clock: Clock) -> None:
    break_it(breaker)
    clock.now = 9.9
    assert not breaker.admit()
    assert breaker.opens_in() == pytest.approx(0.1)
    clock.now = 10
    assert breaker.opens_in() == 0
    assert [breaker.admit() for _rival in range(5)] == [True, False, False, False, False]
    breaker.fail()
    clock.now = 19.9
    assert not breaker.admit()
    clock.now = 20
    assert breaker.admit()


def test_a_success_closes_it(breaker: Breaker, clock: Clock) -> None:
    break_it(breaker)
    clock.now = 10
    assert breaker.admit()
    breaker.succeed()
    assert breaker.opens_in() == 0
    assert all(breaker.admit() for _caller in range(5))


def test_a_probe_that_never_reports_costs_one_pause(breaker: Breaker, clock: Clock) -> None:
    break_it(breaker)
    clock.now = 10
    assert breaker.admit()
    clock.now = 19
    assert not breaker.admit()
    clock.now = 20
    assert breaker.admit()


def test_of_many_threads_one_is_the_probe(breaker: Breaker, clock: Clock) -> None:
    break_it(breaker)
    clock.now = 10
    start = threading.Barrier(16)
    admitted: list[bool] = []

    def ask() -> None:
        start.wait()
        admitted.append(breaker.admit())

    threads = [threading.Thread(target=ask) for _rival in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(admitted) == [False] * 15 + [True]


def test_no_more_than_the_limit_are_inside() -> None:
    bulkhead = Bulkhead()
    assert [bulkhead.enter(2) for _caller in range(3)] == [True, True, False]
    assert bulkhead.enter(3), "the limit may be raised meanwhile"
    bulkhead.leave()
    bulkhead.leave()
    assert bulkhead.enter(2)
    assert not bulkhead.enter(2)


def test_in_a_rush_the_next_one_waits_for_a_place() -> None:
    bulkhead = Bulkhead()
    assert bulkhead.enter(1)
    threading.Timer(0.05, bulkhead.leave).start()
    assert bulkhead.enter(1, patience=5)


def test_nobody_waits_for_a_call_that_takes_long() -> None:
    bulkhead = Bulkhead()
    assert bulkhead.enter(1)
    started = time.monotonic()
    assert not bulkhead.enter(1, patience=0.1)
    assert time.monotonic() - started >= 0.1, "the call inside was young"
    started = time.monotonic()
    assert not bulkhead.enter(1, patience=0.1)
    assert time.monotonic() - started < 0.1, "now it is old"


def test_a_place_is_given_back_whatever_happens_inside() -> None:
    gates = Gates()
    for _call in range(5):
        with pytest.raises(KeyError), gates.opened("https://a.test", b"k", max_calls=1):
            raise KeyError
    with gates.opened("https://a.test", b"k", max_calls=1):
        with pytest.raises(NotAsked) as caught, gates.opened("https://b.test", b"", max_calls=1):
            pass
        assert caught.value.retryable
        assert caught.value.status is None
        assert caught.value.maybe_done is False


def test_each_service_and_key_has_its_own_breaker() -> None:
    gates = Gates(breaker=lambda: Breaker(failures=1))
    gates.breaker("https://a.test", b"k").fail()
    with (
        pytest.raises(NotAsked, match=r"^not asked: the service keeps failing") as caught,
        gates.opened("https://a.test", b"k", max_calls=4),
    ):
        pass
    assert caught.value.retry_after in range(9, 11)
    for other in (("https://b.test", b"k"), ("https://a.test", b"rotated")):
        with gates.opened(*other, max_calls=4):
            pass


def test_a_full_house_spends_no_probe(clock: Clock) -> None:
    gates = Gates(breaker=lambda: Breaker(failures=1, clock=clock))
    gates.breaker("https://a.test", b"k").fail()
    clock.now = 10
    with (
        gates.opened("https://b.test", b"k", max_calls=1),
        pytest.raises(NotAsked, match="too many"),
        gates.opened("https://a.test", b"k", max_calls=1),
    ):
        pass
    with gates.opened("https://a.test", b"k", max_calls=1):
        pass


def test_rotated_keys_do_not_fill_the_memory() -> None:
    gates = Gates()
    for number in range(5 * MAX_KEPT):
        gates.breaker("https://a.test", b"%d" % number)
    assert len(gates._breakers) <= MAX_KEPT


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_is_bound_by_nothing_of_its_parent() -> None:
    gates = Gates(breaker=lambda: Breaker(failures=1))
    breaker = gates.breaker("https://a.test", b"k")
    breaker.fail()
    with gates.opened("https://b.test", b"k", max_calls=1), breaker._lock:
        child = os.fork()
        if child == 0:
            # The lock is held and the only place is taken, in the parent's memory.
            try:
                with gates.opened("https://a.test", b"k", max_calls=1):
                    os._exit(0)
            finally:
                os._exit(1)
        _pid, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_that_is_forked_inside_a_call_gives_back_no_place_of_its_own() -> None:
    bulkhead = Bulkhead()
    assert bulkhead.enter(1)
    child = os.fork()
    if child == 0:
        try:
            assert bulkhead.enter(1)
            bulkhead.leave()
            bulkhead.leave()  # the place that was taken before the fork
            assert bulkhead.enter(1)
            assert not bulkhead.enter(1)
            os._exit(0)
        finally:
            os._exit(1)
    _pid, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert not bulkhead.enter(1), "the parent's place is still taken"
