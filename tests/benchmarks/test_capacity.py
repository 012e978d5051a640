"""The simulation agrees with what mathematics knows, and the page shows what was made by it."""

import math
import re
from dataclasses import replace

import pytest

from tests.benchmarks.capacity.constants import load, save
from tests.benchmarks.capacity.engine import Clock, Log, Places, Process
from tests.benchmarks.capacity.gate import Gate
from tests.benchmarks.capacity.model import DAY, PEAK, RUSH, Costs, Demand, Latency, Setup
from tests.benchmarks.capacity.simulating import capacity, limits, simulate
from tests.benchmarks.capacity.tables import PAGE, constants, growth

FREE = Costs(
    first=0, settled=0, result=0, first_database=0, settled_database=0, result_database=0, commits=3
)
FIXED = Latency(median=0.2, p99=0.2, fixed=True)


def erlang_b(places: int, load: float) -> float:
    """The share that finds no place, where nobody waits."""
    terms = [load**n / math.factorial(n) for n in range(places + 1)]
    return terms[-1] / sum(terms)


@pytest.mark.parametrize("rate", [10.0, 20.0, 40.0])
def test_who_finds_no_place_is_erlangs_share(rate: float) -> None:
    setup = Setup(processes=2, threads=500, patience=0, flush=1e-9)
    found = simulate(setup, FREE, Demand(per_second=rate, latency=FIXED), seconds=1500)
    assert found.turned_away == pytest.approx(erlang_b(4, rate / 2 * 0.2), rel=0.12)


def test_patience_helps_on_a_quick_service_and_not_on_a_slow_one() -> None:
    def turned_away(patience: float, latency: float) -> float:
        demand = Demand(per_second=30 * 0.1 / latency, latency=replace(FIXED, median=latency))
        setup = Setup(threads=500, patience=patience, flush=1e-9)
        return simulate(setup, FREE, demand, seconds=600).turned_away

    assert turned_away(0.25, 0.1) < turned_away(0, 0.1) / 4
    assert turned_away(0.25, 1.0) == pytest.approx(turned_away(0, 1.0), rel=0.2)


def test_a_lone_interpreter_makes_people_wait_as_a_queue_does() -> None:
    """One server, fixed service, random arrivals: half of utilisation / (1 - utilisation)."""
    costs = replace(FREE, first=0.01)
    setup = Setup(processes=1, threads=10**6, max_calls=10**6, cores=1, flush=1e-9)
    demand = Demand(
        per_second=50, latency=replace(FIXED, median=1e-9), webhooks=False, results=False
    )
    found = simulate(setup, costs, demand, seconds=300)
    assert found.use["interpreter"] == pytest.approx(0.5, rel=0.05)
    assert 0.01 <= found.p50 < 0.02


def test_commits_that_come_together_are_written_together() -> None:
    """Two groups take turns: who is written by one flush comes too late for the next."""
    clock = Clock()
    log, done = Log(clock, 0.01), [0]

    def commits() -> Process:
        while True:
            yield log.commit()
            done[0] += 1

    for _number in range(50):
        clock.start(commits())
    clock.run(1.0)
    assert done[0] == pytest.approx(50 * 100 / 2, rel=0.03)
    assert log.use() == pytest.approx(1.0, rel=0.02)


def test_places_are_given_in_turn() -> None:
    clock = Clock()
    places, order = Places(clock, 1), []

    def visit(name: str) -> Process:
        yield places.take()
        order.append((name, clock.now))
        yield 2.0
        places.leave()

    for name in "abc":
        clock.start(visit(name))
    clock.run(8.0)
    assert order == [("a", 0.0), ("b", 2.0), ("c", 4.0)]
    assert places.use() == pytest.approx(6 / 8)


def test_a_gate_lets_wait_while_all_inside_are_young() -> None:
    clock = Clock()
    gate, told = Gate(clock, 1, patience=0.25), []

    def visit(at: float, stay: float) -> Process:
        yield at
        admitted = yield from gate.enter()
        told.append((at, admitted, round(clock.now, 2)))
        if admitted:
            yield stay
            gate.leave()

    for at, stay in ((0.0, 0.2), (0.1, 1.0), (0.3, 1.0), (0.6, 1.0)):
        clock.start(visit(at, stay))
    clock.run(5.0)
    assert told == [(0.0, True, 0.0), (0.1, True, 0.2), (0.3, False, 0.45), (0.6, False, 0.6)]


def test_the_same_seed_is_the_same_day_and_another_is_not() -> None:
    demand = Demand(per_second=5)
    one, same = (simulate(Setup(), FREE, demand, seconds=60, seed=3) for _number in range(2))
    assert one == same
    assert one != simulate(Setup(), FREE, demand, seconds=60, seed=4)


def test_a_day_has_its_mean_and_its_rush() -> None:
    demand = Demand(per_second=10, daily=True)
    rates = [demand.rate(second) for second in range(0, 86400, 60)]
    assert sum(rates) / len(rates) == pytest.approx(10)
    assert max(rates) == pytest.approx(demand.highest) == pytest.approx(10 * PEAK)
    assert pytest.approx(max(DAY) * RUSH) == PEAK


def test_more_places_carry_more_until_something_else_is_full() -> None:
    costs = replace(FREE, first=0.008, settled=0.003, result=0.003, first_database=0.001)
    demand = Demand(per_second=1)
    few, more = (
        capacity(Setup(threads=32, max_calls=calls), costs, demand, payments=1500)
        for calls in (4, 12)
    )
    assert more > few * 3
    alone = limits(Setup(max_calls=10**6, threads=10**6), costs, demand)
    assert min(alone, key=lambda part: alone[part]) in {"interpreter", "web cores"}
    assert alone["interpreter"] == pytest.approx(2 / 0.014)


def test_the_constants_that_are_kept_can_be_kept_again(tmp_path: object) -> None:
    kept = load()
    path = tmp_path / "again.json"  # type: ignore[operator]
    save(kept, path)
    assert load(path) == kept


def test_the_page_shows_the_constants_that_are_kept() -> None:
    page, kept = PAGE.read_text(), load()
    for name, text in (("constants", constants(kept)), ("growth", growth(kept))):
        assert f"<!-- tests.benchmarks.capacity {name} -->\n{text}\n<!-- end -->" in page
    for name in ("setups", "limits", "day", "validate"):
        (shown,) = re.findall(
            rf"<!-- tests.benchmarks.capacity {name} -->\n(.*?)<!-- end -->", page, re.DOTALL
        )
        assert len(shown) > 100, name
