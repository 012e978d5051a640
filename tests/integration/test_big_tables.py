"""With 500 pages and 100,000 payments, nothing reads a table to show a page of it (case C66)."""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.admin.sites import site
from django.contrib.auth.models import Permission, User
from django.core.management.color import no_style
from django.db import connection, models
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.admin.lists import CAP
from payments_pages.choices import FulfilmentState, Reason, VerificationState
from payments_pages.confirmation import (
    backlog,
    oldest_due,
    other_mode_fulfilments,
    other_mode_verifications,
)
from payments_pages.confirmation.due import (
    forget_unknown,
    make_room,
    unvouched,
    vouched_or_mirrored,
)
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.staff import attention, take_totals
from tests.benchmarks.growth.loading import load
from tests.benchmarks.growth.rows import PAGES, History, email_of, payer_of, reference_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.usefixtures("history"),
    pytest.mark.xdist_group("big_tables"),  # loaded once
]

ADMIN = "/admin/payments_pages/"
SIZE = 100_000
DUE = 1000
MOST_QUERIES = 14
MOST_ROWS = 3 * CAP
"""Index entries and rows that a statement may look at: a capped count, and a page of a join."""
BIG = ("transaction", "verification", "fulfilment", "event")


@pytest.fixture(scope="module")
def history(django_db_setup: None, django_db_blocker: Any) -> Iterator[History]:
    made = History(size=SIZE, mode="test", now=timezone.now(), due=DUE)
    with django_db_blocker.unblock():
        load(made, events=False)
    yield made
    with django_db_blocker.unblock():
        tables = [
            model._meta.db_table
            for model in (Event, Fulfilment, Verification, Transaction, PaymentPage)
        ]
        flush = connection.ops.sql_flush(
            no_style(),
            tables,
            reset_sequences=True,
            allow_cascade=connection.vendor == "postgresql",
        )
        connection.ops.execute_sql_flush(flush)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    return client


def days(ago: int, length: int = 30) -> dict[str, str]:
    """The query of some days as the list's own form writes them."""
    first = timezone.localdate() - dt.timedelta(days=ago)
    return {"paid_at__from": str(first), "paid_at__to": str(first + dt.timedelta(days=length - 1))}


def period(days: int, length: int = 30) -> dict[str, str]:
    """The query of a period that began `days` ago."""
    since = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    since -= dt.timedelta(days=days)
    return {"paid_at__gte": str(since), "paid_at__lt": str(since + dt.timedelta(days=length))}


SEARCHES = {
    "a reference nobody has": {"q": "nobody-has-this"},
    "a payer": {"q": email_of(7)},
    "a payer in capitals": {"q": email_of(40).upper()},
    "the beginning of an address": {"q": email_of(40)[:12]},
    "the beginning of a reference": {"q": reference_of(40)[:9]},
    "the same in capitals": {"q": reference_of(40)[:9].upper()},
    "a payer's name": {"q": f"muna {payer_of(40)}"},
    "a last name": {"q": f"haddad-{payer_of(40)}"},
    "the last four of a card": {"q": "0040"},
    "a phone": {"q": f"05{payer_of(40):08}"},
}
QUERIES: dict[str, list[dict[str, str]]] = {
    "transaction": [
        {},
        {"p": "100"},
        {"o": "1"},
        {"o": "-1"},
        days(20),
        days(120),
        {"paid_at__from": "2000-01-01"},
        {**days(120), "status": "reversed"},
        {**days(120), "page__id__exact": "none"},
        period(20),
        period(60),
        period(120),
        # What a period holds is read where several filters meet in it, however old it is.
        {**period(120, 10), "status": "success", "currency": "ILS", "domain": "test"},
        {**period(120), "status": "reversed"},
        *SEARCHES.values(),
    ],
    "verification": [{}, {"p": "100"}, {"o": "1"}, {"o": "-6"}, {"q": "nobody-has-this"}],
    "paymentpage": [{}, {"q": "page-3"}],
}


def urls(staff: Client) -> Iterator[str]:
    """Every list in every order that it offers, by every choice of every filter, and searched."""
    for name, queries in QUERIES.items():
        base = f"{ADMIN}{name}/"
        for query in queries:
            yield f"{base}?{urlencode(query)}"
        changelist = staff.get(base).context["cl"]
        for spec in changelist.filter_specs:
            for choice in list(spec.choices(changelist))[1:]:
                yield base + choice["query_string"]
        yield (
            f"{base}?page__id__exact={PaymentPage.objects.order_by('pk').first().pk}"
            if (name == "transaction")
            else base
        )


def of_ours(queries: CaptureQueriesContext) -> list[str]:
    return [q["sql"] for q in queries.captured_queries if "payments_pages_" in q["sql"]]


def looked_at(sql: str) -> int:
    """Rows and index entries that the server looked at to answer, by its own account."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
            ((plan,),) = cursor.fetchall()
            plan = json.loads(plan) if isinstance(plan, str) else plan
            return _rows_of_postgresql(plan[0]["Plan"])
        cursor.execute(f"ANALYZE FORMAT=JSON {sql}")
        ((text,),) = cursor.fetchall()
        return _rows_of_mariadb(json.loads(text))


def _rows_of_postgresql(node: dict[str, Any]) -> int:
    rows = 0
    if "Scan" in node["Node Type"] and node["Node Type"] != "Subquery Scan":
        seen = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        rows = int((seen + node.get("Rows Removed by Index Recheck", 0)) * node["Actual Loops"])
    return rows + sum(_rows_of_postgresql(part) for part in node.get("Plans", ()))


def _rows_of_mariadb(node: Any) -> int:
    if isinstance(node, list):
        return sum(_rows_of_mariadb(part) for part in node)
    if not isinstance(node, dict):
        return 0
    rows = 0
    if str(node.get("table_name", "")).startswith("payments_pages_"):
        rows = int((node.get("r_rows") or 0) * (node.get("r_loops") or 0))
    return rows + sum(_rows_of_mariadb(part) for part in node.values())


def scans(sql: str) -> list[str]:
    """The lines of SQLite's plan that read a whole big table."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        lines = [row[-1] for row in cursor.fetchall()]
    return [line for line in lines if re.match(rf"SCAN payments_pages_({'|'.join(BIG)})", line)]


def complaint(sql: str) -> str:
    """What is wrong about how a statement is answered, if anything."""
    if connection.vendor == "sqlite":
        found = scans(sql)
        # In the order of its primary key, and no further than a page: all rows are wanted.
        harmless = "LIMIT" in sql and not re.search(r"\bWHERE\b", sql)
        return f"{found}: {sql}" if found and not harmless else ""
    rows = looked_at(sql)
    return f"{rows} rows: {sql}" if rows > MOST_ROWS else ""


def complaints(statements: list[str]) -> list[str]:
    return [text for sql in statements if sql.startswith("SELECT") and (text := complaint(sql))]


def test_no_list_counts_or_reads_a_table_whatever_is_asked(staff: Client) -> None:
    asked = list(urls(staff))
    assert len(asked) > 60
    for url in asked:
        with CaptureQueriesContext(connection) as queries:
            response = staff.get(url)
        assert response.status_code == 200, url
        for sql in of_ours(queries):
            # A list's count has its cap, the count of what is held the one of what needs attention.
            assert not re.match(
                r"SELECT COUNT\(.*(?<!LIMIT \d{5})(?<!LIMIT \d{3})\) ?subquery$", sql
            ), sql
            assert not re.match(r"SELECT COUNT\((?!.*LIMIT)", sql), sql
            assert "SELECT DISTINCT" not in sql
        assert complaints(of_ours(queries)) == [], url


@pytest.mark.skipif(connection.vendor != "sqlite", reason="servers are asked by rows, above")
def test_no_refunds_are_sought_among_all_that_is_delivered() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {plain(Fulfilment.objects.money_back())}")
        plan = "\n".join(row[-1] for row in cursor.fetchall())
    assert "pp_fulfilment_money_back" in plan


def test_what_would_read_a_table_is_seen_to() -> None:
    """The test above can fail: these read more than a page."""
    bad = Transaction.objects.filter(gateway_response="never").order_by("-pk")[:100]
    worse = Transaction.objects.exclude(status__in=["success", "failed"]).order_by("-pk")[:100]
    assert complaints([plain(bad)]) != []
    if connection.vendor == "sqlite":
        assert complaints([plain(worse)]) != []


def plain(rows: "models.QuerySet[Any]") -> str:
    with CaptureQueriesContext(connection) as queries:
        list(rows)
    return str(queries.captured_queries[-1]["sql"])


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("who", ["superuser", "viewer"])
def test_a_list_makes_the_same_queries_for_10_and_for_100_rows_and_at_most_14(
    name: str, who: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User.objects.create_user(who, is_staff=True, is_superuser=who == "superuser")
    wanted = ["view_transaction", "view_verification", "view_paymentpage", "view_customer_details"]
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    client.force_login(user)
    counts = []
    for rows in (10, 100):
        admin = next(a for m, a in site._registry.items() if m._meta.model_name == name)
        monkeypatch.setattr(type(admin), "list_per_page", rows)
        client.get(f"{ADMIN}{name}/")  # what is kept between requests is kept now
        with CaptureQueriesContext(connection) as queries:
            response = client.get(f"{ADMIN}{name}/")
        assert len(response.context["cl"].result_list) == rows
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[1] <= MOST_QUERIES, [q["sql"][:200] for q in queries.captured_queries]


@pytest.mark.parametrize("name", ["transaction", "verification", "paymentpage"])
def test_one_row_is_a_small_page_without_long_dropdowns(name: str, staff: Client) -> None:
    admin = next(a for m, a in site._registry.items() if m._meta.model_name == name)
    row = admin.model.objects.order_by("-pk").first()
    with CaptureQueriesContext(connection) as queries:
        response = staff.get(f"{ADMIN}{name}/{row.pk}/change/", follow=True)
    assert response.status_code == 200
    shown = response.content.decode()
    assert len(shown) < 200_000
    for select in re.findall(r"<select.*?</select>", shown, re.S):
        assert select.count("<option") <= 50
    assert complaints(of_ours(queries)) == []


@pytest.mark.parametrize("name", ["transaction", "verification"])
def test_what_is_about_money_is_neither_edited_nor_deleted(name: str, staff: Client) -> None:
    admin = next(a for m, a in site._registry.items() if m._meta.model_name == name)
    row = admin.model.objects.order_by("-pk").first()
    base = f"{ADMIN}{name}/"
    assert staff.get(f"{base}add/").status_code == 403
    assert staff.post(f"{base}{row.pk}/change/", {"state": "delivered"}).status_code == 403
    assert staff.post(f"{base}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    actions = dict(admin.get_action_choices(staff.get(ADMIN).wsgi_request))
    assert "delete_selected" not in actions


def test_the_index_page_reads_no_table(staff: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert staff.get(ADMIN).status_code == 200
    assert complaints(of_ours(queries)) == []


SWEPT: dict[str, Callable[[], Any]] = {
    "what is due": lambda: list(islice(backlog.due_work(100, may_ask=lambda: True), 100)),
    "due, unvouched": lambda: list(islice(backlog.unvouched_work(100), 100)),
    "what is due and left": backlog.count_due,
    "the oldest due row": oldest_due,
    "references somebody vouched for": lambda: list(vouched_or_mirrored().due()[:100]),
    "unvouched": lambda: list(unvouched().due()[:100]),
    "holds that a claim may lift": lambda: list(backlog._held_in_doubt()[:100]),
    "holds that a page may lift": lambda: list(backlog._on_sale_again()[:100]),
    "what needs attention": attention.read_attention,
    "totals": lambda: take_totals("test"),
    "totals of a page": lambda: take_totals(
        "test", of=Q(page=PaymentPage.objects.order_by("pk")[1])
    ),
    "totals of no page": lambda: take_totals("test", of=Q(page=None)),
    "the timeline": lambda: list(Event.objects.filter(reference_key="x").order_by("pk")[:200]),
    "unknown ones to forget": forget_unknown,
    "room for unvouched ones": lambda: make_room(10),
    "references of the other mode": lambda: list(other_mode_verifications()[:1000]),
    "deliveries of the other mode": lambda: list(other_mode_fulfilments()[:1000]),
    "the state of deliveries": lambda: list(
        Fulfilment.objects.filter(state=FulfilmentState.HELD, reason=Reason.UNATTRIBUTED)[:100]
    ),
    "references of a state": lambda: list(
        Verification.objects.filter(state=VerificationState.UNKNOWN)[:100]
    ),
}


@pytest.mark.parametrize("what", SWEPT)
def test_an_index_finds(what: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        SWEPT[what]()
    assert of_ours(queries)
    assert complaints(of_ours(queries)) == []


def test_the_sweep_finds_all_that_is_due_among_the_many(history: History) -> None:
    found = list(backlog.due_work(10 * DUE, may_ask=lambda: True))
    asked = {work.reference for work in found if work.asks}
    tried = {work.reference for work in found if not work.asks}
    late = {reference_of(number) for number in range(SIZE - DUE // 2, SIZE)}
    assert len(asked) == DUE // 2
    assert len(list(backlog.unvouched_work(10 * DUE))) == DUE // 2
    assert tried == {
        row.transaction.reference
        for row in Fulfilment.objects.filter(state="failed").select_related("transaction")
    }
    assert tried <= late


def test_the_numbers_are_those_of_the_case() -> None:
    assert PaymentPage.objects.count() == PAGES == 500
    assert Transaction.objects.count() == SIZE
    assert Fulfilment.objects.count() > 0.8 * SIZE
