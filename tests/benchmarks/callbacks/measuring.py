"""Measure the sites of one database side by side: each round takes every site once."""

import contextlib
import json
import statistics
import tempfile
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.callbacks.databases import new_database
from tests.benchmarks.callbacks.events import webhook_request
from tests.benchmarks.callbacks.load import Load, Request, rush, together
from tests.benchmarks.callbacks.servers import (
    PROCESSES,
    THREADS,
    Answers,
    Site,
    environment,
    serving,
)

__all__ = ["Measure", "Scale", "measure"]

LINES = PROCESSES * THREADS
PAYMENTS, DUPLICATES = 60, 8


@dataclass(frozen=True, slots=True)
class Scale:
    """Say how much is measured: rounds, and requests of each kind in a round."""

    rounds: int = 7
    first: int = 240
    settled: int = 480
    counted: int = 21


QUICK = Scale(rounds=3, first=120, settled=240, counted=7)


@dataclass(slots=True)
class Measure:
    """Gather what was measured of one kind of answer of one site. Times are in seconds."""

    cpu: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    requests: int = 0
    calls: int = 0
    connections: int = 0
    deliveries: int = 0
    payments: int = 0
    cost: dict[str, float] = field(default_factory=dict)

    def add_calm(self, load: Load, cpu: float) -> None:
        """Add a round of one request at a time for each process: what an answer costs."""
        self.cpu.append(cpu / len(load.times))
        self.statuses += load.statuses
        self.requests += len(load.times)

    def add_rush(self, load: Load) -> None:
        """Add a round with every thread busy: how fast it goes then."""
        self.rate.append(len(load.times) / load.seconds)
        self.times += load.times
        self.statuses += load.statuses
        self.requests += len(load.times)

    def add_answers(self, answers: dict[str, Any]) -> None:
        """Add what the service has seen of it."""
        self.calls += sum(answers["calls"].values())
        self.connections += answers["connections"]

    def summary(self) -> dict[str, Any]:
        """Return the figures: medians over the rounds; percentiles over all answers."""
        load = Load(times=self.times)
        found = asdict(self) | {
            "cpu": statistics.median(self.cpu) if self.cpu else None,
            "cpu_rounds": self.cpu,
            "rate": statistics.median(self.rate),
            "p50": load.part(0.5),
            "p99": load.part(0.99),
            "statuses": dict(self.statuses),
        }
        del found["times"]
        return found


def measure(
    sites: Sequence[Site], address: str, answers: Answers, scale: Scale
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, by site and kind of answer, what was measured on one database."""
    found: dict[str, dict[str, Measure]] = {site.name: {} for site in sites}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for site in sites:
            database = stack.enter_context(new_database(address, site.name, Path(folder)))
            site.environment |= environment(site.module, answers, database)
            plan = _Plan(scale)
            site.callback = site.run("prepare", plan.all)["callback"]
            site.run("expect", plan.told)
            counted = site.run("count", plan.counted)
            site.result = counted["result"]
            costs = counted["costs"]
            if site.webhook:
                costs["webhook"] = site.run("count_webhooks", _as_lines(site, plan.counted_hooks))
            found[site.name] = {kind: Measure(cost=cost) for kind, cost in costs.items()}
            stack.enter_context(serving(site, Path(folder) / f"{site.name}.log"))
            site.plan = plan
        _warm(sites)
        answers.counts()
        for number in range(scale.rounds):
            for site in sites:
                for kind, requests in _requests(site, number).items():
                    measure = found[site.name].setdefault(kind, Measure())
                    _ask(site, requests, measure)
                    measure.add_answers(answers.counts())
        for site in sites:
            if site.callbacks:
                found[site.name]["duplicates"] = _duplicates(site, answers)
    return {
        name: {kind: one.summary() for kind, one in kinds.items()} for name, kinds in found.items()
    }


class _Plan:
    """Draw all references of one site beforehand: some packages want their rows made first."""

    def __init__(self, scale: Scale) -> None:
        self.counted = _references(scale.counted + 1)
        self.counted_hooks = _references(scale.counted + 1)
        self.warm = _references(4 * LINES)
        self.warm_hooks = _references(2 * LINES)
        self.first = [_references(scale.first) for _round in range(scale.rounds)]
        self.hooks = [_references(scale.first) for _round in range(scale.rounds)]
        self.duplicates = _references(PAYMENTS)
        self.settled = scale.settled

    @property
    def all(self) -> list[str]:
        return [*self.told, *_joined([self.counted, self.warm, *self.first, self.duplicates])]

    @property
    def told(self) -> list[str]:
        """Return those that a webhook tells of first."""
        return _joined([self.counted_hooks, self.warm_hooks, *self.hooks])


def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
    return [reference for part in parts for reference in part]


def _as_lines(site: Site, references: Sequence[str]) -> list[str]:
    requests = [webhook_request(site, reference) for reference in references]
    return [
        json.dumps({"path": one.path, "headers": one.headers, "body": one.body.decode()})
        for one in requests
    ]


def _references(count: int) -> list[str]:
    # UUIDs, for one of the packages takes nothing else.
    return [str(uuid.uuid4()) for _number in range(count)]


def _warm(sites: Sequence[Site]) -> None:
    for site in sites:
        requests = _visits(site, site.plan.warm) if site.callbacks else []
        rush(site.port, requests, lines=LINES)
        rush(site.port, requests, lines=LINES)
        if site.webhook:
            hooks = [webhook_request(site, reference) for reference in site.plan.warm_hooks]
            rush(site.port, hooks, lines=LINES)


def _visits(site: Site, references: Sequence[str]) -> list[Request]:
    return [Request(site.callback.format(reference)) for reference in references]


def _requests(site: Site, number: int) -> dict[str, list[Request]]:
    """Return, by kind of answer, what one site is asked for in one round."""
    plan = site.plan
    first = plan.first[number]
    again = [first[index % len(first)] for index in range(plan.settled)]
    kinds: dict[str, list[Request]] = {}
    if site.callbacks:
        kinds["first"] = _visits(site, first)
        kinds["settled"] = _visits(site, again)
    if site.query:
        kinds["query"] = [Request(site.query.format(reference)) for reference in again]
    if site.result:
        kinds["result"] = [Request(site.result)] * plan.settled
    if site.webhook:
        kinds["webhook"] = [webhook_request(site, reference) for reference in plan.hooks[number]]
    return kinds


def _ask(site: Site, requests: Sequence[Request], measure: Measure) -> None:
    calm = len(requests) // 3
    before = site.cpu()
    load = rush(site.port, requests[:calm], lines=PROCESSES)
    measure.add_calm(load, site.cpu() - before)
    measure.add_rush(rush(site.port, requests[calm:], lines=LINES))


def _duplicates(site: Site, answers: Answers) -> Measure:
    references = site.plan.duplicates
    measure = Measure(payments=PAYMENTS)
    measure.add_rush(together(site.port, _visits(site, references), times=DUPLICATES))
    measure.add_answers(answers.counts())
    measure.deliveries = sum(site.run("delivered", references).values())
    return measure
