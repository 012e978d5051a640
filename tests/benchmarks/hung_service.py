"""Measure what a hung service does to the rest of a site: with our protections, and without.

    python -m tests.benchmarks.hung_service [--seconds 15] [--write]

Eight web threads serve 20 callbacks and 20 other requests a second, in a process of its own for
each row of the table, on SQLite, with a service on loopback that takes connections and answers
nothing. A request's time counts from when it was due, so waiting for a thread is part of it.
`--write` puts the table into docs/service-down.md.
"""

import argparse
import json
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

THREADS = 8
PER_SECOND = 20
FOR_EVER = 3600
ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "service-down.md"
BEGIN, END = "<!-- tests.benchmarks.hung_service -->", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Variant:
    """Be one row: which protections are on."""

    label: str
    gates: bool
    timeouts: bool


VARIANTS = {
    "all": Variant("everything on", gates=True, timeouts=True),
    "timeouts": Variant("without bulkhead and breaker", gates=False, timeouts=True),
    "nothing": Variant("without timeouts as well", gates=False, timeouts=False),
}


@dataclass(slots=True)
class Result:
    """Count what was answered in the time; milliseconds, None when that many were not."""

    expected: int
    others: int
    others_p50: float | None
    others_p99: float | None
    callbacks: int
    callbacks_p99: float | None
    calls: int


class HungService:
    """Take every connection and say nothing; count those that asked something."""

    def __init__(self) -> None:
        self.calls = 0
        self._kept: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/api"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _address = self._listener.accept()
            self._kept.append(connection)
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        if connection.recv(65536):
            self.calls += 1


def configure(variant: Variant, url: str, database: Path) -> None:
    """Set Django up for one variant, with an empty database."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    times = (
        {}
        if variant.timeouts
        else dict.fromkeys(("CONNECT_TIMEOUT", "READ_TIMEOUT", "DEADLINE"), FOR_EVER)
    )
    settings.configure(
        SECRET_KEY="only for a benchmark",
        ALLOWED_HOSTS=["testserver"],
        ROOT_URLCONF="tests.benchmarks.urls",
        STATIC_URL="/static/",
        USE_TZ=True,
        INSTALLED_APPS=["payments_pages"],
        MIDDLEWARE=["django.middleware.locale.LocaleMiddleware"],
        TEMPLATES=[
            {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
        ],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": str(database),
                "OPTIONS": {
                    "transaction_mode": "IMMEDIATE",
                    "timeout": 20,
                    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                },
                "CONN_MAX_AGE": None,
            }
        },
        LOGGING={"version": 1, "root": {"level": "CRITICAL"}},
        PAYMENTS_PAGES={
            "SECRET_KEY": "sk_test_bench",
            "BASE_URL": url,
            "PAY_URL": url,
            "SITE_URL": "http://127.0.0.1",
            "HANDLER": "tests.benchmarks.hung_service.deliver",
            # Payers, not guessers: the budgets for unknown references are another matter.
            "UNKNOWN_PER_ADDRESS": 1_000_000,
            "UNKNOWN_IN_ALL": 1_000_000,
            **times,
        },
    )
    django.setup()
    call_command("migrate", verbosity=0)
    if not variant.gates:
        from payments_pages.client import factory

        factory.GATES = None  # type: ignore[assignment]


def deliver(_fulfilment: Any) -> None:
    """Give nothing: no payment is ever confirmed here."""


def run(variant: Variant, seconds: int) -> Result:
    """Serve the load for some seconds and count."""
    service = HungService()
    with tempfile.TemporaryDirectory() as folder:
        configure(variant, service.url, Path(folder) / "tests.benchmarks.sqlite3")
        from django.test import Client

        waiting: queue.Queue[tuple[float, str, str]] = queue.Queue()
        times: dict[str, list[float]] = {"callback": [], "other": []}

        def serve() -> None:
            client = Client()
            while True:
                due, kind, address = waiting.get()
                response = client.get(address)
                assert response.status_code == 200
                times[kind].append(time.monotonic() - due)

        for address in ("/other/", "/payments/callback/"):
            Client().get(address)  # templates and modules are loaded before the clock starts
        for _thread in range(THREADS):
            threading.Thread(target=serve, daemon=True).start()
        for due, kind, address in schedule(seconds):
            time.sleep(max(0.0, due - time.monotonic()))
            waiting.put((due, kind, address))
        time.sleep(0.5)
        return summary(times, seconds * PER_SECOND, service.calls)


def schedule(seconds: int) -> Iterator[tuple[float, str, str]]:
    """Yield when what is due, on the monotonic clock."""
    start = time.monotonic()
    for number in range(seconds * PER_SECOND):
        due = start + number / PER_SECOND
        yield due, "callback", f"/payments/callback/?reference=HUNG-{number}"
        yield due + 0.5 / PER_SECOND, "other", "/other/"


def summary(times: dict[str, list[float]], expected: int, calls: int) -> Result:
    """Turn times in seconds into a result; who was not answered counts as never."""
    others, callbacks = sorted(times["other"]), sorted(times["callback"])

    def share(found: list[float], part: float) -> float | None:
        place = int(part * expected)
        return round(found[place] * 1000, 1) if place < len(found) else None

    return Result(
        expected=expected,
        others=len(others),
        others_p50=share(others, 0.5),
        others_p99=share(others, 0.99),
        callbacks=len(callbacks),
        callbacks_p99=share(callbacks, 0.99),
        calls=calls,
    )


def table(results: dict[str, Result]) -> str:
    """Write the results as a Markdown table."""
    lines = [
        "| | other requests answered | their median | their 99 % | callbacks answered | calls |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in results.items():
        p50, p99 = map(_milliseconds, (found.others_p50, found.others_p99))
        lines.append(
            f"| {VARIANTS[name].label} | {found.others} of {found.expected} | {p50} | {p99} "
            f"| {found.callbacks} of {found.expected} | {found.calls} |"
        )
    return "\n".join(lines)


def _milliseconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f} ms"


def measure(name: str, seconds: int) -> Result:
    """Run one variant in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.hung_service",
        "--one",
        name,
        "--seconds",
        str(seconds),
    ]
    done = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=seconds + 60
    )
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def write(text: str) -> None:
    """Put the table where the documentation shows it."""
    page = PAGE.read_text()
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _match: f"{BEGIN}\n{text}\n{END}", page))


def main() -> int:
    """Run all variants and print the table; 1 when the site was not protected."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asdict(run(VARIANTS[options.one], options.seconds))), flush=True)
        os._exit(0)  # threads that hang are not waited for
    results = {name: measure(name, options.seconds) for name in VARIANTS}
    text = table(results)
    print(text)
    if options.write:
        write(text)
    ours = results["all"]
    good = ours.others == ours.expected and (ours.others_p99 or FOR_EVER) < 50
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
