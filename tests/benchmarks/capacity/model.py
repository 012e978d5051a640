"""The site that is simulated: what it is made of, what a payment costs it, what payers do."""

import math
import random
from dataclasses import dataclass, field

from payments_pages.client import PATIENCE

__all__ = ["DAY", "PEAK", "Costs", "Demand", "Latency", "Setup"]

# Of a hundred payments of a day, those of each hour from midnight on: a shop whose evening is its
# rush (our assumption; put your own here).
_HOURS: tuple[float, ...] = (1.6, 0.9, 0.5, 0.4, 0.4, 0.6, 1.2, 2.2, 3.3, 4.2, 4.9, 5.2)
_HOURS += (5.3, 5.0, 4.8, 4.9, 5.2, 5.9, 7.0, 8.3, 9.6, 8.9, 6.0, 3.7)
DAY = tuple(share / sum(_HOURS) * 24 for share in _HOURS)
"""The rate of each hour, as a multiple of the day's mean."""
RUSH = 2.0
"""The rate of the rush, ten minutes in the fullest hour, as a multiple of that hour's mean."""
RUSH_SECONDS = 600
PEAK = max(DAY) * RUSH
"""The rush's rate as a multiple of the day's mean."""


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
    for one while no call inside is older than `patience` seconds, else is turned away. `flush` is how long the
    database's disk takes to make a commit durable, in seconds.
    """

    nodes: int = 1
    cores: int = 2
    processes: int = 2
    threads: int = 8
    max_calls: int = 4
    patience: float = PATIENCE
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
    daily: bool = False
    """Whether `per_second` is the day's mean and the hours follow `DAY`; else it is the rate."""

    def rate(self, second: float) -> float:
        """Return how many payments a second come at a moment of the day."""
        if not self.daily:
            return self.per_second
        hour, within = divmod(second % 86400, 3600)
        return self.per_second * DAY[int(hour)] * self._rush(int(hour), within)

    @property
    def highest(self) -> float:
        """Return the highest rate there is."""
        return self.per_second * (PEAK if self.daily else 1.0)

    def _rush(self, hour: int, within: float) -> float:
        """Keep the fullest hour's mean: what the rush has more, the rest of that hour has less."""
        if hour != DAY.index(max(DAY)):
            return 1.0
        if within < RUSH_SECONDS:
            return RUSH
        return (3600 - RUSH * RUSH_SECONDS) / (3600 - RUSH_SECONDS)
