"""Soak a whole site: gunicorn with threads, a sweep, a sandbox that is unwell now and then.

    python -m tests.benchmarks.soak [--minutes 20] [--per-second 8] [--workers 2] [--threads 8]

Payers pay, come back by several doors at once, look, come again and guess; the service fails and
hangs for some seconds of every minute. Prints memory, threads and connections of the site's
processes, and in the end whether they stayed flat and whether every payment was delivered once.
Exit code 1 if not. `DATABASE_URL` names a server to use instead of SQLite; it must be empty, and
is left behind. Linux only.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from example_project.demo.addresses import HOST, SANDBOX_KEY, free_port, sqlite_url
from example_project.demo.parts import MANAGE, Part, Parts
from payments_pages.sandbox import Sandbox
from tests.benchmarks.soak.sampling import FIGURES, Sample, flat, sample

EVERY = 10.0
"""Seconds between two samples."""
GROWTH, SLACK = 0.05, 4
UNWELL_EVERY, UNWELL_FOR = 60.0, 5.0
HEADER = (
    f"{'minute':>6} {'memory MiB':>11} {'threads':>8} {'sockets':>8} {'files':>6} {'database':>9}"
)


def main() -> int:
    """Run the load; 0 when everything stayed flat and every payment was delivered once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--per-second", type=float, default=8, help="payments a second, in all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(secret_key=SANDBOX_KEY) as sandbox,
    ):
        port = free_port()
        environment = _environment(sandbox, port, Path(folder))
        os.environ |= environment
        _prepare(sandbox)
        with Parts(environment=environment, logs=Path(folder)) as parts:
            site = _start_site(parts, port, options.workers, options.threads)
            sweep = parts.start("sweep", [MANAGE, "payments_pages_sweep", "--watch"])
            return _soak(options, sandbox, f"http://{HOST}:{port}", site, sweep)


def _environment(sandbox: Sandbox, port: int, folder: Path) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "tests.benchmarks.soak.settings",
        "DEBUG": "off",
        "SITE_URL": f"http://{HOST}:{port}",
        "PAYMENTS_SECRET_KEY": SANDBOX_KEY,
        "PAYMENTS_BASE_URL": sandbox.base_url,
        "PAYMENTS_PAY_URL": sandbox.pay_url,
        "PAYMENTS_MAX_CALLS": "16",
        "DATABASE_URL": os.environ.get("DATABASE_URL") or sqlite_url(folder / "soak.sqlite3"),
    }


def _prepare(sandbox: Sandbox) -> None:
    """Make the tables and a page to pay on."""
    import django

    django.setup()
    from django.core.management import call_command

    from example_project.shop.models import Offer
    from payments_pages.models import PaymentPage

    call_command("migrate", verbosity=0)
    sandbox.add_page(name="Soak", slug="soak", amount=10000, currency="ILS")
    call_command("payments_pages_sync", verbosity=0)
    Offer.objects.get_or_create(page=PaymentPage.objects.get())


def _start_site(parts: Parts, port: int, workers: int, threads: int) -> Part:
    arguments = ["--workers", str(workers), "--threads", str(threads), "--worker-class", "gthread"]
    address = ["--bind", f"{HOST}:{port}", "--log-level", "error"]
    site = parts.start(
        "site", ["-m", "gunicorn", *arguments, *address, "example_project.wsgi:application"]
    )
    parts.wait_until_answers(site, f"http://{HOST}:{port}/")
    return site


def _soak(
    options: argparse.Namespace, sandbox: Sandbox, address: str, site: Part, sweep: Part
) -> int:
    from payments_pages.models import PaymentPage
    from tests.benchmarks.soak.load import Load

    load = Load(
        site=address,
        sandbox=sandbox,
        page_token=PaymentPage.objects.get().token,
        threads=options.threads,
        per_second=options.per_second,
    )
    samples: list[Sample] = []
    end = time.monotonic() + options.minutes * 60
    print(HEADER, flush=True)
    load.start()
    with _trouble(sandbox):
        while time.monotonic() < end:
            time.sleep(EVERY)
            site.require_alive()
            sweep.require_alive()
            pids = [*_children(site.process.pid), sweep.process.pid]
            samples.append(sample(pids, _database_connections))
            _show(samples)
    load.stop()
    return _judge(load.paid, load.answers, load.errors, samples)


@contextmanager
def _trouble(sandbox: Sandbox) -> Iterator[None]:
    """Let the service be unwell for some seconds of every minute, each time in another way."""
    import threading

    stop = threading.Event()

    def spoil() -> None:
        kinds = (
            {"kind": "status", "status": 503},
            {"kind": "hang", "seconds": 3.0},
            {"kind": "html"},
        )
        number = 0
        while not stop.wait(UNWELL_EVERY - UNWELL_FOR):
            sandbox.faults.add(operation="verify", **kinds[number % len(kinds)])
            stop.wait(UNWELL_FOR)
            sandbox.faults.clear()
            number += 1

    thread = threading.Thread(target=spoil, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        sandbox.faults.clear()


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def _database_connections() -> int:
    """Count the connections to our database on a server; on SQLite files are all there is."""
    from django.db import connection

    queries = {
        "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()",
        "mysql": "SELECT count(*) FROM information_schema.processlist WHERE db = database()",
    }
    if connection.vendor not in queries:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(queries[connection.vendor])
        return int(cursor.fetchone()[0])


def _show(samples: Sequence[Sample]) -> None:
    one = samples[-1]
    minute = (one.at - samples[0].at + EVERY) / 60
    print(
        f"{minute:>6.1f} {one.memory / 1024:>11.1f} {one.threads:>8} {one.sockets:>8} "
        f"{one.files:>6} {one.database:>9}",
        flush=True,
    )


def _judge(paid: Sequence[str], answers: object, errors: object, samples: Sequence[Sample]) -> int:
    from example_project.shop.models import Licence
    from payments_pages.confirmation import sweep_due
    from payments_pages.models import Fulfilment

    # What the unwell service left behind is due soon; what was guessed is not waited for.
    give_up = time.monotonic() + 60
    delivered = Fulfilment.objects.filter(state="delivered")
    while delivered.count() < len(paid) and time.monotonic() < give_up:
        sweep_due()
        time.sleep(1)
    given = sorted(Licence.objects.values_list("fulfilment__transaction__reference", flat=True))
    once = given == sorted(paid)
    reasons = Counter(Fulfilment.objects.values_list("state", "reason", "last_error"))
    print(f"fulfilments: {reasons}")
    print(f"answers: {answers}\nerrors of the load: {errors}")
    print(f"paid {len(paid)}, licences {len(given)}: {'each once' if once else 'NOT each once'}")
    grown = [
        figure
        for figure in FIGURES
        if not flat(samples, figure, growth=GROWTH, slack=0 if figure == "memory" else SLACK)
    ]
    print(f"not flat: {', '.join(grown)}" if grown else "memory and connections: flat")
    return 0 if once and not grown else 1


if __name__ == "__main__":
    sys.exit(main())
