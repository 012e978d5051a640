"""Measure the constants of one payment: statements, commits, CPU, bytes, and the disk's own pace."""

import os
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.benchmarks.capacity.constants import Constants, Relation
from tests.benchmarks.capacity.double import Double, running_double

__all__ = ["measure"]

WARM_UP = 200
SETTLED = 1000
COUNTED = 20
COMMITS = 300
COMMITTERS = (1, 4, 16)
INSERTERS, INSERTS, PAGES = 16, 2000, 500
STATISTICS_DELAY = 2.0
"""Seconds after which PostgreSQL's statistics have caught up."""


def measure(payments: int) -> Constants:
    """Take `payments` through the callback, one after the other, on an empty PostgreSQL database."""
    with running_double(payments + WARM_UP + COUNTED) as double:
        os.environ["CAPACITY_BASE_URL"] = double.base_url
        os.environ["CAPACITY_PAY_URL"] = double.pay_url
        import django

        django.setup()
        return _measure(double)


def _measure(double: Double) -> Constants:
    from django.core.management import call_command
    from django.db import connection

    if connection.vendor != "postgresql":
        raise SystemExit("Set DATABASE_URL to an empty PostgreSQL database.")
    call_command("migrate", verbosity=0)
    visit, result = _doors(double)
    references = iter(double.references)
    for _number in range(WARM_UP):
        visit(next(references))
    statements = [_statements(lambda: visit(next(references))) for _number in range(COUNTED)]
    before = _sizes()
    _checkpoint()
    rows = list(references)
    wal, database_cpu = _wal(), _backend_cpu()
    cpu, clock = time.process_time(), time.perf_counter()
    for number, reference in enumerate(rows, 1):
        visit(reference)
        if sys.stderr.isatty() and number % 100 == 0:
            print(f"\r{number} of {len(rows)}", end="", file=sys.stderr, flush=True)
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    database_cpu, wal = _backend_cpu() - database_cpu, _wal() - wal
    updates = _updates()
    after = _sizes()
    settled, settled_sql, settled_db = _cost(lambda: visit(rows[0]))
    shown, shown_sql, shown_db = _cost(lambda: result(rows[0]))
    return Constants(
        machine=_machine(),
        payments=len(rows),
        statements=statistics.median(sql for sql, _commits in statements),
        commits=statistics.median(commits for _sql, commits in statements),
        first_cpu=cpu / len(rows),
        first_database_cpu=database_cpu / len(rows),
        first_seconds=clock / len(rows),
        settled_cpu=settled,
        settled_statements=settled_sql,
        settled_database_cpu=settled_db,
        result_cpu=shown,
        result_statements=shown_sql,
        result_database_cpu=shown_db,
        wal_bytes=wal["bytes"] / len(rows),
        wal_page_images=wal["images"] / len(rows),
        relations=[
            Relation(name, kind, (size - before.get((name, kind), 0)) / len(rows))
            for (name, kind), size in sorted(after.items())
        ],
        updates=updates,
        commit_seconds={str(count): _commit_seconds(count) for count in COMMITTERS},
        inserts_by_pages={str(pages): _inserts(pages) for pages in (1, PAGES)},
    )


def _doors(double: Double) -> tuple[Callable[[str], None], Callable[[str], None]]:
    """Return what visits the page's callback, and what reads a result page, through WSGI."""
    from django.test import RequestFactory

    from payments_pages.models import PaymentPage, Transaction
    from payments_pages.pages.changes import slug_key
    from tests.benchmarks.capacity.wsgi import application

    remote = double.page
    page, _made = PaymentPage.objects.get_or_create(
        slug_key=slug_key(remote["slug"]),
        defaults={
            "remote_id": remote["id"],
            "name": remote["name"],
            "slug": remote["slug"],
            "amount": remote["amount"],
            "currency": remote["currency"],
            "domain": remote["domain"],
        },
    )
    PaymentPage.objects.filter(pk=page.pk).update(remote_id=remote["id"])
    factory = RequestFactory()

    def get(path: str, expected: str, **query: str) -> None:
        statuses: list[str] = []

        def start(status: str, _headers: object, _error: object = None) -> Any:
            statuses.append(status)

        answer = application(factory.get(path, query).environ, start)
        b"".join(answer)
        answer.close()
        if not statuses[0].startswith(expected):
            raise RuntimeError(f"{path} answered {statuses[0]}, not {expected}.")

    def visit(reference: str) -> None:
        get(f"/payments/callback/{page.token}/", "303", reference=reference)

    def result(reference: str) -> None:
        get(f"/payments/result/{tokens(reference)}/", "200")

    known: dict[str, Any] = {}

    def tokens(reference: str) -> Any:
        if reference not in known:
            known[reference] = Transaction.objects.get(reference=reference).token
        return known[reference]

    return visit, result


def _statements(work: Callable[[], object]) -> tuple[int, int]:
    """Count the statements of a piece of work, BEGIN and COMMIT aside, and what it commits."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    # BEGIN and COMMIT are in the log as well.
    with CaptureQueriesContext(connection) as found:
        work()
    statements = commits = 0
    inside = False
    for query in found.captured_queries:
        sql = str(query["sql"])
        if sql == "BEGIN":
            inside = True
        elif sql in {"COMMIT", "ROLLBACK"}:
            inside = False
            commits += sql == "COMMIT"
        else:
            statements += 1
            commits += not inside and re.match("INSERT|UPDATE|DELETE", sql) is not None
    return statements, commits


def _cost(work: Callable[[], object]) -> tuple[float, int, float]:
    """Return our CPU seconds, the statements and the database's CPU seconds of a repeated work."""
    work()
    sql, _commits = _statements(work)
    database, cpu = _backend_cpu(), time.process_time()
    for _number in range(SETTLED):
        work()
    cpu = time.process_time() - cpu
    return cpu / SETTLED, sql, (_backend_cpu() - database) / SETTLED


def _backend_cpu() -> float:
    """Return the CPU seconds that our connection's server process has used; 0 if it is elsewhere."""
    (pid,) = _row("SELECT pg_backend_pid()")
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123 - not a real file
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Delta(dict[str, float]):
    """Subtract by name."""

    def __sub__(self, other: "_Delta") -> "_Delta":
        return _Delta({name: value - other[name] for name, value in self.items()})


def _wal() -> _Delta:
    """Return what the whole server has written to its log: let nobody else use it meanwhile."""
    time.sleep(STATISTICS_DELAY)
    (position,) = _row("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    (images,) = _row("SELECT wal_fpi FROM pg_stat_wal")
    return _Delta(bytes=float(position), images=float(images))


def _checkpoint() -> None:
    _execute("CHECKPOINT")


def _sizes() -> dict[tuple[str, str], int]:
    """Return the bytes of each table (with its long values) and each index of ours."""
    _execute("VACUUM ANALYZE")
    found = {}
    for name, kind, size in _rows(
        "SELECT c.relname, c.relkind, CASE c.relkind WHEN 'r' THEN pg_table_size(c.oid)"
        " ELSE pg_relation_size(c.oid) END FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i')"
        " AND c.relname LIKE 'p%%'"
    ):
        found[name, "table" if kind in {"r", b"r"} else "index"] = size
    return found


def _updates() -> dict[str, list[int]]:
    """Return inserts, updates and HOT updates by table, once the statistics have arrived."""
    time.sleep(STATISTICS_DELAY)
    return {
        name: [inserted, updated, hot]
        for name, inserted, updated, hot in _rows(
            "SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
            " WHERE relname LIKE 'payments_pages%%' AND n_tup_ins > 0 ORDER BY relname"
        )
    }


def _commit_seconds(committers: int) -> float:
    """Return the mean seconds of a one-row commit with so many connections committing at once."""
    from django.db import connection

    _execute("DROP TABLE IF EXISTS pp_commit")
    _execute("CREATE TABLE pp_commit (id int PRIMARY KEY, n int)")
    _execute(f"INSERT INTO pp_commit SELECT g, 0 FROM generate_series(1, {committers}) g")
    times: list[float] = []
    start = threading.Barrier(committers)

    def commit(number: int) -> None:
        with _another(connection) as cursor:
            start.wait()
            for _turn in range(COMMITS):
                began = time.perf_counter()
                cursor.execute("UPDATE pp_commit SET n = n + 1 WHERE id = %s", [number])
                times.append(time.perf_counter() - began)

    threads = [threading.Thread(target=commit, args=(n + 1,)) for n in range(committers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _execute("DROP TABLE pp_commit")
    return statistics.mean(times)


def _inserts(pages: int) -> float:
    """Return how many rows that refer to one of `pages` rows 16 connections commit a second.

    The loop runs in the server and does not wait for the disk: what is left is what they do to
    each other, first of all by locking the row they all refer to.
    """
    from django.db import connection

    _execute("DROP TABLE IF EXISTS pp_paid, pp_page")
    _execute("CREATE TABLE pp_page (id int PRIMARY KEY)")
    _execute(
        "CREATE TABLE pp_paid (id bigserial PRIMARY KEY, page int NOT NULL"
        " REFERENCES pp_page DEFERRABLE INITIALLY DEFERRED)"
    )
    _execute(f"INSERT INTO pp_page SELECT g FROM generate_series(1, {pages}) g")
    _execute(
        "CREATE OR REPLACE PROCEDURE pp_pay(turns int, pages int) LANGUAGE plpgsql AS $$ BEGIN"
        " FOR n IN 1..turns LOOP INSERT INTO pp_paid (page) VALUES (1 + floor(random() * pages));"
        " COMMIT; END LOOP; END $$"
    )
    start = threading.Barrier(INSERTERS + 1)

    def pay() -> None:
        with _another(connection) as cursor:
            cursor.execute("SET synchronous_commit = off")
            start.wait()
            cursor.execute(f"CALL pp_pay({INSERTS}, {pages})")

    threads = [threading.Thread(target=pay) for _number in range(INSERTERS)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    _execute("DROP PROCEDURE pp_pay")
    _execute("DROP TABLE pp_paid, pp_page")
    return INSERTERS * INSERTS / seconds


@contextmanager
def _another(connection: Any) -> Iterator[Any]:
    own = connection.copy()
    try:
        with own.cursor() as cursor:
            yield cursor
    finally:
        own.close()


def _machine() -> str:
    (version,) = _row("SHOW server_version")
    (durable,) = _row("SHOW synchronous_commit")
    python = sys.version.split()[0]
    import django

    return (
        f"{os.cpu_count()} cores, PostgreSQL {version.split()[0]} (synchronous_commit {durable}), "
        f"Python {python}, Django {django.__version__}"
    )


def _execute(sql: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql)


def _rows(sql: str) -> list[Any]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql, [])
        return list(cursor.fetchall())


def _row(sql: str) -> Any:
    return _rows(sql)[0]
