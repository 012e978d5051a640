"""The torture goes on while the database starts again, and says so when it cannot start."""

import time
from threading import Event
from typing import Any, cast

import pytest

from payments_pages.sandbox import Sandbox
from tests.reliability.torture.chaos import Chaos, Nursery
from tests.reliability.torture.plan import AGES, PRICE, Fate, Payment, payment

PATIENCE = 20.0
"""Seconds until a start gives up waiting; a run that goes on needs far less."""


class Server:
    """A database whose start takes until the test lets it end."""

    settings: dict[str, Any] = {}

    def __init__(self, ready: Event, *, broken: bool = False) -> None:
        self.kills = 0
        self.starting = False
        self.ended = False
        self._ready, self._broken = ready, broken

    def kill(self) -> None:
        assert not self.starting
        self.kills += 1
        self.starting = True

    def start(self) -> None:
        if self._broken:
            raise RuntimeError("it does not start")
        self.ended = self._ready.wait(PATIENCE)
        self.starting = False

    def stop(self) -> None:
        pass


class Workers:
    """Processes that only count how often they are killed while the database is away."""

    def __init__(self) -> None:
        self.roles = {1: "door"}
        self.server: Server | None = None
        self.killed_without = 0
        self.twice_without = Event()

    def kill(self, pid: int) -> None:
        if self.server is not None and self.server.starting:
            self.killed_without += 1
            if self.killed_without == 2:
                self.twice_without.set()

    def stop(self, pid: int) -> None:
        pass

    go = stop


def rage(sandbox: Sandbox, server: Server, workers: Workers) -> Chaos:
    sandbox.add_page(name="Tea box", slug="tea-box", amount=PRICE)
    chaos = make_chaos(sandbox, server, workers)
    chaos.rage(6)
    return chaos


def make_chaos(sandbox: Sandbox, server: Server, workers: Workers) -> Chaos:
    return Chaos(
        nursery=cast("Nursery", workers),
        server=server,
        sandbox=sandbox,
        seed=1,
        token="",
        began=time.time(),
        rate=15,
        kill_database_every=0.6,
    )


def test_workers_are_killed_while_the_database_starts_again(sandbox: Sandbox) -> None:
    workers = Workers()
    workers.server = Server(workers.twice_without)
    rage(sandbox, workers.server, workers)
    assert workers.server.kills >= 1
    assert workers.server.ended, "nothing was killed before the database was there again"
    assert not workers.server.starting


def test_a_database_that_does_not_start_ends_the_run(sandbox: Sandbox) -> None:
    with pytest.raises(RuntimeError, match="it does not start"):
        rage(sandbox, Server(Event(), broken=True), Workers())


def test_no_lie_says_of_a_mismatch_that_it_is_paid(sandbox: Sandbox) -> None:
    """The payment in a false answer may also be the one that the caller asks about."""
    chaos = make_chaos(sandbox, Server(Event()), Workers())
    chaos.payments += [payment(1, number, "") for number in range(150)]
    fates = {made.reference: made.fate for made in chaos.payments}
    assert set(fates.values()) == {Fate.MUST, Fate.NEVER, Fate.MAY}
    named = set()
    for _lie in range(1500):
        chaos._lie()
        named |= {fault.options.get("other") for fault in sandbox.faults.active()}
    named.discard(None)
    assert len(named) > 20
    assert {fates[reference] for reference in named} == {Fate.MUST}
    by_notice = {made.reference for made in chaos.payments if made.by_notice}
    assert by_notice.isdisjoint(named), "verify would say success before its time"


def test_verify_is_behind_what_notices_tell(sandbox: Sandbox) -> None:
    chaos = make_chaos(sandbox, Server(Event()), Workers())
    sandbox.add_page(name="Tea box", slug="tea-box", amount=PRICE)
    chaos._pay(time.time() + 20)
    assert {made.is_hidden for made in told_of(chaos)} == {True, False}
    for made in told_of(chaos):
        known = sandbox.transaction(made.reference)
        assert (known is None) is made.is_hidden
        assert known is None or known["status"] == made.fields["status"] != "success"
    chaos._ripen(float("inf"))
    for made in told_of(chaos):
        known = sandbox.transaction(made.reference)
        assert known is not None
        assert known["status"] == "success"


def told_of(chaos: Chaos) -> list[Payment]:
    return [made for made in chaos.payments if made.by_notice]


def test_one_payment_in_ten_is_told_of_by_a_notice_of_every_age() -> None:
    made = [payment(1, number, "token") for number in range(2000)]
    told = [each for each in made if each.by_notice]
    assert 150 < len(told) < 250
    assert {each.age for each in told} == set(AGES)
    assert {each.fields["status"] for each in told} == {"pending", "failed", "abandoned"}
    assert all(each.fate == Fate.MUST and "metadata" in each.fields for each in told)
    assert not [each for each in made if each.age and not each.by_notice]
