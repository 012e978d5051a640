"""The site that is simulated: what it is made of, what a payment costs it, what payers do."""

import math
import random
from dataclasses import dataclass, field

__all__ = ["Costs", "Demand", "Latency", "Setup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Draw the service's answer times: log-normal by median and 99 % point, in seconds."""

    median: float
    p99: float
    fixed: bool = False

    def draw(self, lot: random.Random) -> float:
        """Return one answer time."""
        if self.fixed:
            return self.median
        sigma = math.log(self.p99 / self.median) / 2.326
        return self.median * math.exp(sigma * lot.gauss(0.0, 1.0))

    @property
    def mean(self) -> float:
        """Return the mean answer time."""
        if self.fixed:
            return self.median
        sigma = math.log(self.p99 / self.median) / 2.326
        return self.median * math.exp(sigma * sigma / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds of a core by what is asked for, on the web's side and on the database's."""

    first: float
    settled: float
    result: float
    first_database: float
    settled_database: float
    result_database: float
    commits: int = 3
    handler: float = 0.0
    """The merchant's own work in a delivery: seconds of a core."""

    @property
    def web(self) -> float:
        """Return what one payment costs the web nodes: callback, result page, webhook."""
        return self.first + self.handler + self.settled + self.result

    @property
    def database(self) -> float:
        """Return what one payment costs the database's cores."""
        return self.first_database + self.settled_database + self.result_database


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Say what serves: nodes of web processes, one database primary, sweeps.

    `max_calls` is the setting: calls of a process to the service at once; who finds no place waits
    `patience` seconds for one, then is turned away. `flush` is how long the
    database's disk takes to make a commit durable, in seconds.
    """

    nodes: int = 1
    cores: int = 2
    processes: int = 2
    threads: int = 8
    max_calls: int = 4
    patience: float = 0.0
    sweeps: int = 1
    sweep_every: float = 10.0
    database_cores: int = 2
    flush: float = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Say what payers do. Each payment is a callback, then a result page; a webhook comes later.

    `returning` is the share of payers who come back at all; the others are found by webhook.
    """

    per_second: float
    latency: Latency = field(default_factory=lambda: Latency(median=0.25, p99=1.5))
    webhook_after: float = 2.0
    webhooks: bool = True
    results: bool = True
    returning: float = 1.0
