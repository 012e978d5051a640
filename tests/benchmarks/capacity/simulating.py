"""Simulate payers on a site, and find out how many it carries."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.benchmarks.capacity.engine import Clock, Log, Places, Process
from tests.benchmarks.capacity.gate import Gate
from tests.benchmarks.capacity.model import Costs, Demand, Setup

__all__ = ["Outcome", "capacity", "limits", "simulate"]

NETWORK = 0.3
"""Seconds between an answer and the next request of a payer's browser."""
RETRY = 5.0
"""Seconds after which a reference that was turned away is due, at the earliest."""
TURNED_AWAY = 0.01
SLOW = 1.0
"""What a site must keep to: of a hundred payers one may be told "we cannot confirm right now", and
one may wait a second longer than the service takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Tell how it went. Times are seconds, shares are of 1; `waits` are beyond the service's own."""

    callbacks: int
    turned_away: float
    p50: float
    p99: float
    wait_p99: float
    use: dict[str, float]
    backlog: int
    oldest: float

    @property
    def good(self) -> bool:
        """Say whether the site kept to what it must."""
        return self.turned_away <= TURNED_AWAY and self.wait_p99 <= SLOW

    @property
    def fullest(self) -> str:
        """Name what was used most; a log that always writes is not full, for commits go together."""
        return max(self.use.keys() - {"log"}, key=lambda name: self.use[name])


class _WebProcess:
    """One process of one node: its lock, its threads, its bulkhead."""

    def __init__(self, clock: Clock, setup: Setup, cores: Places) -> None:
        self.cores = cores
        self.lock = Places(clock, 1)
        self.threads = Places(clock, setup.threads)
        self.calls = Gate(clock, setup.max_calls, setup.patience)


class _Site:
    """All parts, and what payers do with them."""

    def __init__(self, setup: Setup, costs: Costs, demand: Demand, seed: int) -> None:
        self.setup, self.costs, self.demand = setup, costs, demand
        self.lot = random.Random(seed)
        self.clock = Clock()
        self.log = Log(self.clock, setup.flush)
        self.database = Places(self.clock, setup.database_cores)
        self.cores = [Places(self.clock, setup.cores) for _node in range(setup.nodes)]
        self.web = [
            _WebProcess(self.clock, setup, cores)
            for cores in self.cores
            for _process in range(setup.processes)
        ]
        self.times: list[float] = []
        self.waits: list[float] = []
        self.turned_away = 0
        self.backlog: list[float] = []
        self.oldest = 0.0

    def arrivals(self, seconds: float) -> Process:
        while self.clock.now < seconds:
            yield self.lot.expovariate(self.demand.highest)
            if self.lot.random() * self.demand.highest > self.demand.rate(self.clock.now):
                continue  # fewer come at this hour
            if self.lot.random() < self.demand.returning:
                self.clock.start(self.payer())
            else:
                self.clock.start(self.webhook(first=True))

    def payer(self) -> Process:
        began = self.clock.now
        call = self.demand.latency.draw(self.lot)
        yield from self.ask(call)
        self.times.append(self.clock.now - began)
        self.waits.append(self.clock.now - began - call)
        if self.demand.webhooks:
            self.clock.start(self.webhook(first=False))
        if self.demand.results:
            yield NETWORK
            yield from self.read(self.costs.result, self.costs.result_database)

    def webhook(self, *, first: bool) -> Process:
        yield self.demand.webhook_after
        if first:
            yield from self.ask(self.demand.latency.draw(self.lot))
        else:
            yield from self.read(self.costs.settled, self.costs.settled_database)

    def read(self, cpu: float, database: float) -> Process:
        web = self.choose()
        yield web.threads.take()
        yield from self.compute(web, cpu / 2)
        yield from self.query(database)
        yield from self.compute(web, cpu / 2)
        web.threads.leave()

    def ask(self, call: float) -> Process:
        """Take the path of a first callback: claim, call, record, deliver."""
        web, costs = self.choose(), self.costs
        part = costs.first_database / costs.commits
        yield web.threads.take()
        yield from self.compute(web, costs.first * 0.4)
        yield from self.query(part)
        yield self.log.commit()
        admitted = yield from web.calls.enter()
        if not admitted:
            self.turned_away += 1
            yield from self.query(part)
            yield self.log.commit()
            self.backlog.append(self.clock.now)
            web.threads.leave()
            return
        yield call
        web.calls.leave()
        yield from self.compute(web, costs.first * 0.4)
        yield from self.query(part)
        yield self.log.commit()
        yield from self.compute(web, costs.first * 0.2 + costs.handler)
        yield from self.query(part)
        yield self.log.commit()
        web.threads.leave()

    def sweep(self) -> Process:
        """Take what was turned away, one after the other, every so many seconds."""
        costs = self.costs
        while True:
            due = [at for at in self.backlog if at <= self.clock.now - RETRY]
            if not due:
                yield self.setup.sweep_every
                continue
            at = due[0]
            self.backlog.remove(at)
            yield self.demand.latency.draw(self.lot) + costs.first
            for _commit in range(costs.commits):
                yield from self.query(costs.first_database / costs.commits)
                yield self.log.commit()
            self.oldest = max(self.oldest, self.clock.now - at)

    def choose(self) -> _WebProcess:
        """Give a request to any process: those that share a socket do not know of each other."""
        return self.lot.choice(self.web)

    def compute(self, web: _WebProcess, seconds: float) -> Process:
        """Use a core under the interpreter's lock."""
        yield web.lock.take()
        yield web.cores.take()
        yield seconds
        web.cores.leave()
        web.lock.leave()

    def query(self, seconds: float) -> Process:
        yield self.database.take()
        yield seconds
        self.database.leave()

    def use(self) -> dict[str, float]:
        """Return the mean use of each part."""

        def mean(places: Sequence[Places | Gate]) -> float:
            return sum(place.use() for place in places) / len(places)

        return {
            "threads": mean([web.threads for web in self.web]),
            "calls": mean([web.calls for web in self.web]),
            "interpreter": mean([web.lock for web in self.web]),
            "web cores": mean(self.cores),
            "database cores": self.database.use(),
            "log": self.log.use(),
        }


def simulate(
    setup: Setup, costs: Costs, demand: Demand, *, seconds: float = 300.0, seed: int = 1
) -> Outcome:
    """Let payers come for so many simulated seconds, at random moments; the same seed, the same day."""
    site = _Site(setup, costs, demand, seed)
    for _sweep in range(setup.sweeps):
        site.clock.start(site.sweep())
    site.clock.start(site.arrivals(seconds))
    site.clock.run(seconds)
    asked = len(site.times)
    left = [site.clock.now - at for at in site.backlog]
    return Outcome(
        callbacks=asked,
        turned_away=site.turned_away / max(1, asked),
        p50=_point(site.times, 0.5),
        p99=_point(site.times, 0.99),
        wait_p99=_point(site.waits, 0.99),
        use=site.use(),
        backlog=len(site.backlog),
        oldest=max([site.oldest, *left]),
    )


def limits(setup: Setup, costs: Costs, demand: Demand) -> dict[str, float]:
    """Return, for each part alone, how many payments a second fill it: no simulation, mean values."""
    processes = setup.nodes * setup.processes
    call = demand.latency.mean
    commits = costs.commits * setup.flush
    return {
        "calls": processes * setup.max_calls / call,
        "threads": processes * setup.threads / (call + costs.web + commits),
        "interpreter": processes / costs.web,
        "web cores": setup.nodes * setup.cores / costs.web,
        "database cores": setup.database_cores / costs.database,
    }


def capacity(setup: Setup, costs: Costs, demand: Demand, *, payments: int = 5000) -> float:
    """Return the most payments a second that the site carries well, to one part in twenty.

    Each rate is tried for about so many payments.
    """
    low, high = 0.0, min(limits(setup, costs, demand).values())
    while high - low > high * 0.05:
        middle = (low + high) / 2
        tried = replace(demand, per_second=middle)
        if simulate(setup, costs, tried, seconds=max(60.0, payments / middle)).good:
            low = middle
        else:
            high = middle
    return low


def _point(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
