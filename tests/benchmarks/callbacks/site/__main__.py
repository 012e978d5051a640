"""Prepare a site, count what its answers cost, or count what it has delivered; JSON comes out.

python -m tests.benchmarks.callbacks.site prepare < references
python -m tests.benchmarks.callbacks.site expect < references
python -m tests.benchmarks.callbacks.site count < references
python -m tests.benchmarks.callbacks.site count_webhooks < requests, each as JSON in a line
python -m tests.benchmarks.callbacks.site delivered < references
"""

import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import django


def prepare(references: Sequence[str]) -> dict[str, Any]:
    """Make the tables, and what the merchant would have before the payers come back."""
    from django.conf import settings
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0, interactive=False)
    site = settings.SITE_MODULE
    site.seed(references)
    return {"callback": site.callback()}


def expect(references: Sequence[str]) -> None:
    """Make what a shop has of these payments before the service tells of them by a webhook."""
    from django.conf import settings

    getattr(settings.SITE_MODULE, "expect", lambda _references: None)(references)


def delivered(references: Sequence[str]) -> dict[str, int]:
    """Count the deliveries of each reference that has any."""
    from tests.benchmarks.callbacks.site.models import Good

    wanted = set(references)
    found = Good.objects.values_list("reference", flat=True)
    return dict(Counter(reference for reference in found.iterator() if reference in wanted))


def count(references: Sequence[str]) -> dict[str, Any]:
    """Count the statements, commits and bytes of each kind of answer, one after the other."""
    from django.conf import settings
    from django.test import Client

    site = settings.SITE_MODULE
    client = Client()
    address = site.callback()
    if not address:
        return {"costs": {}, "result": ""}
    warm, *others = references
    visit = client.get(address.format(warm))
    client.get(address.format(warm))
    result = site.result(visit["Location"] if visit.has_header("Location") else "")
    found = {
        kind: _median([_cost(lambda one=one: client.get(address.format(one))) for one in others])
        for kind in ("first", "settled")
    }
    if result:
        found["result"] = _median([_cost(lambda: client.get(result)) for _one in others])
    return {"costs": found, "result": result}


def count_webhooks(requests: Sequence[str]) -> dict[str, float]:
    """Count what a webhook costs, one after the other; the first is not counted."""
    from django.test import Client

    client = Client()

    def send(request: str) -> Any:
        found = json.loads(request)
        headers = dict(found["headers"])
        content_type = headers.pop("Content-Type")
        return client.post(found["path"], found["body"], content_type, headers=headers)

    warm, *others = requests
    send(warm)
    return _median([_cost(lambda one=one: send(one)) for one in others])


def _median(costs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(cost[name] for cost in costs) for name in costs[0]}


def _cost(ask: Callable[[], Any]) -> dict[str, float]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    before = _written()
    with CaptureQueriesContext(connection) as queries:
        response = ask()
    written = _written() - before
    assert response.status_code < 400, (response.status_code, response.content[:500])
    texts = [query["sql"].lstrip() for query in queries.captured_queries]
    ends = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
    commits, inside = 0, False
    for text in texts:
        if text.startswith(("BEGIN", "COMMIT", "ROLLBACK")):
            inside = text.startswith("BEGIN")
            commits += text.startswith("COMMIT")
        elif not inside and text.startswith(("INSERT", "UPDATE", "DELETE")):
            commits += 1
    statements = sum(not text.startswith(ends) for text in texts)
    return {"statements": statements, "commits": commits, "bytes": written}


def _written() -> int:
    """Return the bytes written until now: SQLite's by this process, PostgreSQL's to its log."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
            return int(cursor.fetchone()[0])
    with open("/proc/self/io") as file:  # noqa: PTH123 - not a file on disk
        return next(int(line.split()[1]) for line in file if line.startswith("wchar:"))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.benchmarks.callbacks.site.settings")
    django.setup()
    commands = (prepare, expect, count, count_webhooks, delivered)
    command = {one.__name__: one for one in commands}[sys.argv[1]]
    print(json.dumps(command(sys.stdin.read().splitlines())))
