"""Hold the simulation against a real site: gunicorn, PostgreSQL, and a service of known slowness."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from example_project.demo.addresses import free_port
from tests.benchmarks.capacity.double import Double, running_double
from tests.benchmarks.capacity.model import Costs, Demand, Latency, Setup
from tests.benchmarks.capacity.simulating import Outcome, simulate

__all__ = ["LATENCY", "RATES", "Compared", "validate"]

ROOT = Path(__file__).resolve().parent.parent.parent.parent
LATENCY = 0.2
RATES = (10, 20, 30, 40)
"""Payments a second; what two processes may ask at once, 2 × 4, is 40 a second at that latency."""
SECONDS = 30
SEED = 7
STARTING = 60


@dataclass(frozen=True, slots=True)
class Compared:
    """Put one rate's real and simulated figures side by side."""

    rate: int
    callbacks: int
    turned_away: float
    p50: float
    p99: float
    simulated: Outcome


def validate(costs: Costs, setup: Setup) -> list[Compared]:
    """Serve each rate for half a minute on an empty database and simulate the same."""
    payments = sum(rate * SECONDS * 2 for rate in RATES)
    with running_double(payments, LATENCY) as double:
        token = _prepare(double)
        with _site(double, setup) as port:
            references = iter(double.references)
            _visit(port, token, next(references))
            found = []
            for rate in RATES:
                arrivals = list(_arrivals(rate))
                rows = [(at, next(references)) for at in arrivals]
                found.append(_compare(rate, _serve(port, token, rows), costs, setup))
            return found


def _prepare(double: Double) -> str:
    """Migrate, mirror the page, and return its token."""
    code = (
        "import json, sys, django; django.setup()\n"
        "from django.core.management import call_command\n"
        "from payments_pages.models import PaymentPage\n"
        "call_command('migrate', verbosity=0)\n"
        "call_command('payments_pages_sync', verbosity=0, stdout=sys.stderr)\n"
        "print(PaymentPage.objects.get(slug='tea-box').token)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=_environment(double),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.split()[-1]


def _environment(double: Double) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.benchmarks.capacity.settings",
        "CAPACITY_BASE_URL": double.base_url,
        "CAPACITY_PAY_URL": double.pay_url,
    }


@contextmanager
def _site(double: Double, setup: Setup) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "tests.benchmarks.capacity.wsgi:application"]
    command += ["--bind", f"127.0.0.1:{port}", "--workers", str(setup.processes)]
    command += ["--threads", str(setup.threads), "--log-level", "error"]
    process = subprocess.Popen(command, cwd=ROOT, env=_environment(double))
    try:
        until = time.monotonic() + STARTING
        while True:
            try:
                _get(port, "/other/")
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)


def _get(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def _visit(port: int, token: str, reference: str) -> int:
    return _get(port, f"/payments/callback/{token}/?reference={reference}")


def _arrivals(rate: int) -> Iterator[float]:
    lot, at = random.Random(SEED), 0.0
    while (at := at + lot.expovariate(rate)) < SECONDS:
        yield at


def _serve(port: int, token: str, rows: list[tuple[float, str]]) -> list[tuple[int, float]]:
    """Visit each reference at its moment, whatever the others do; return (status, seconds)."""
    found: list[tuple[int, float]] = []
    start = time.monotonic()

    def visit(at: float, reference: str) -> None:
        status = _visit(port, token, reference)
        found.append((status, time.monotonic() - start - at))

    threads = []
    for at, reference in rows:
        time.sleep(max(0.0, start + at - time.monotonic()))
        thread = threading.Thread(target=visit, args=(at, reference))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    return found


def _compare(rate: int, found: list[tuple[int, float]], costs: Costs, setup: Setup) -> Compared:
    times = sorted(seconds for _status, seconds in found)
    given = sum(status == 303 for status, _seconds in found)
    if any(status not in {200, 303} for status, _seconds in found):
        raise RuntimeError(f"Answers: {sorted({status for status, _seconds in found})}")
    demand = Demand(
        per_second=rate,
        latency=Latency(median=LATENCY, p99=LATENCY, fixed=True),
        webhooks=False,
        results=False,
    )
    return Compared(
        rate=rate,
        callbacks=len(found),
        turned_away=1 - given / len(found),
        p50=times[len(times) // 2],
        p99=times[int(len(times) * 0.99)],
        simulated=simulate(setup, costs, demand, seconds=SECONDS * 10),
    )
