"""Kill and stop processes, cut connections and send false answers, at random, during the run."""

import random
import socket
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from payments_pages.sandbox import Sandbox
from tests.reliability.torture.plan import Fate, Payment, payment
from tests.reliability.torture.servers import Server

__all__ = ["Chaos", "Nursery"]

KILL_EVERY = 0.15
STOP_EVERY = 0.7
STOPPED_FOR = (1.2, 2.4)
"""Seconds a process stands still: longer than the lease, which is one."""
LIE_EVERY = 0.1
SERVICE_TAKES = 0.03
"""Seconds of each honest answer: time to be killed or stopped in."""
TICK = 0.02
AHEAD = 1.0
"""Seconds by which a payment is made before anybody asks about it."""
BEHIND = 6.0
"""Seconds by which verify is behind a notice, at most: six minutes, in the pace of a run."""

LIES: tuple[dict[str, object], ...] = (
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 500},
    {"kind": "html", "status": 502},
    {"kind": "hang", "seconds": 3.0},
    {"kind": "drop"},
    {"kind": "truncated"},
    {"kind": "empty"},
    {"kind": "latency", "seconds": 0.2},
    {"kind": "wrong_reference"},
    {"kind": "patch", "data": {"status": "failed"}},
    {"kind": "patch", "data": {"status": "pending"}},
)


class Nursery:
    """The processes that are killed; a replacement is born at once."""

    def __init__(self, listener: socket.socket) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.reliability.torture.nursery"],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.roles: dict[int, str] = {}

    def spawn(self, role: str) -> None:
        """Start a process: a name of `tests.reliability.torture.worker.ROLES`."""
        self._say("spawn", role)
        assert self._process.stdout is not None
        self.roles[int(self._process.stdout.readline())] = role

    def kill(self, pid: int) -> None:
        """Kill a process and put another in its place."""
        self._say("kill", pid)
        self.spawn(self.roles.pop(pid))

    def stop(self, pid: int) -> None:
        """Let a process stand still, wherever it is."""
        self._say("stop", pid)

    def go(self, pid: int) -> None:
        """Let it go on, as if no time had passed."""
        self._say("go", pid)

    def end(self) -> None:
        """Kill all, and the nursery ends."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait(timeout=60)
        self.roles.clear()

    def _say(self, command: str, argument: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command} {argument}\n")
        self._process.stdin.flush()


@dataclass
class Chaos:
    """One run's troubles, counted."""

    nursery: Nursery
    server: Server
    sandbox: Sandbox
    seed: int
    token: str
    began: float
    rate: float
    kill_database_every: float
    payments: list[Payment] = field(default_factory=list)
    kills: int = 0
    stops: int = 0
    lies: int = 0
    _stopped: dict[int, float] = field(default_factory=dict)
    _waiting: list[tuple[float, Payment]] = field(default_factory=list)

    def rage(self, seconds: float) -> None:
        """Do all of it until the time is over; nobody is left standing still.

        While the database starts again the rest goes on: workers die without one, too.
        """
        with ThreadPoolExecutor(max_workers=1) as beside:
            self._rage(time.time() + seconds, beside)
        self._wake(float("inf"))
        self._ripen(float("inf"))
        self.sandbox.faults.clear()

    def _rage(self, end: float, beside: ThreadPoolExecutor) -> None:
        starting: Future[None] | None = None
        kill_at = stop_at = lie_at = time.time() + 0.5
        database_at = time.time() + self.kill_database_every
        while (now := time.time()) < end:
            self._pay(now)
            self._wake(now)
            if now >= kill_at:
                self._kill()
                kill_at = now + random.uniform(0.3, 1.7) * KILL_EVERY
            if now >= stop_at:
                self._stop(now)
                stop_at = now + random.uniform(0.5, 1.5) * STOP_EVERY
            if now >= lie_at:
                self._lie()
                lie_at = now + LIE_EVERY
            if starting is not None and starting.done():
                starting.result()
                starting = None
                database_at = now + random.uniform(0.5, 1.5) * self.kill_database_every
            if starting is None and now >= database_at and end - now > 3:
                self.server.kill()
                starting = beside.submit(self.server.start)
            time.sleep(TICK)
        if starting is not None:
            starting.result()

    def _pay(self, now: float) -> None:
        """Make the payments that will be asked about in a moment, and change those that ripen."""
        due = int((now + AHEAD - self.began) * self.rate) + 1
        while len(self.payments) < due:
            made = payment(self.seed, len(self.payments), self.token)
            if not made.is_hidden:
                self.sandbox.pay("tea-box", reference=made.reference, **made.fields)
            self.payments.append(made)
            if made.by_notice:
                self._waiting.append((now + AHEAD + random.uniform(0, BEHIND), made))
            elif made.later:
                self._waiting.append((now + random.uniform(1, 4), made))
        self._ripen(now)

    def _ripen(self, now: float) -> None:
        for moment, made in [entry for entry in self._waiting if entry[0] <= now]:
            if made.is_hidden:
                self.sandbox.pay("tea-box", reference=made.reference, **made.fields | made.later)
            else:
                self.sandbox.set_transaction(made.reference, **made.later)
            self._waiting.remove((moment, made))

    def _kill(self) -> None:
        pid = random.choice(list(self.nursery.roles))
        self._stopped.pop(pid, None)
        self.nursery.kill(pid)
        self.kills += 1

    def _stop(self, now: float) -> None:
        pid = random.choice(list(self.nursery.roles))
        if pid not in self._stopped and len(self._stopped) < 3:
            self.nursery.stop(pid)
            self._stopped[pid] = now + random.uniform(*STOPPED_FOR)
            self.stops += 1

    def _wake(self, now: float) -> None:
        for pid in [pid for pid, moment in self._stopped.items() if moment <= now]:
            self.nursery.go(pid)
            del self._stopped[pid]

    def _lie(self) -> None:
        self.sandbox.faults.clear()
        # Waits come first: they hold back whatever answer follows.
        self.sandbox.faults.add(operation="verify", kind="latency", seconds=SERVICE_TAKES)
        if random.random() < 0.6:
            lie = dict(random.choice(LIES))
            if lie["kind"] == "wrong_reference":
                lie["other"] = self._honest().reference
            self.sandbox.faults.add(operation="verify", times=random.randint(1, 3), **lie)  # type: ignore[arg-type]
            self.lies += 1

    def _honest(self) -> Payment:
        """Draw a payment that is, or becomes, a success, and that payers come back for.

        It may be the very one that is asked about: said of a mismatch, that would be no lie about
        another payment, but the service's own word that this one is paid.
        """
        fit = [made for made in self.payments if made.fate == Fate.MUST and not made.by_notice]
        return random.choice(fit)
