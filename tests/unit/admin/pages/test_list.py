"""The list of pages says at a glance what is on sale, what it sold and what needs somebody."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.admin.pages.sold import last_days
from payments_pages.models import PaymentPage, Transaction
from payments_pages.pages import slug_key, sync_pages
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.staff import take_totals
from tests.conftest import mirror_another
from tests.support.pages_admin import ADD, LIST, change_url, rows, text

pytestmark = pytest.mark.django_db


def pay(page: PaymentPage, amount: int, days: float = 0, **fields: Any) -> None:
    reference = f"PPG-{Transaction.objects.count()}"
    Transaction.objects.create(
        **{
            "reference": reference,
            "reference_key": reference_key(reference),
            "status": "success",
            "domain": "test",
            "amount": amount,
            "currency": "ILS",
            "page": page,
            "paid_at": timezone.now() - dt.timedelta(days=days),
            "verified_at": timezone.now(),
            **fields,
        }
    )


def cells(response: Any) -> dict[str, list[str]]:
    """The list's cells by the page's name, without the column of check boxes."""
    shown = text(response)
    shown = shown[shown.index('id="result_list"') - 200 :]
    table = [row for row in rows(shown) if len(row) > 4][1:]
    start = 1 if "action-select" in shown else 0
    return {row[start]: row[start + 1 :] for row in table}


def test_a_row_shows_link_price_sold_state_and_sync(tea_box: PaymentPage, staff: Client) -> None:
    PaymentPage.objects.update(synced_at=dt.datetime(2026, 11, 27, 19, 5, tzinfo=dt.UTC))
    pay(tea_box, 10000)
    pay(tea_box, 12050)
    pay(tea_box, 700, currency="JOD")
    (row,) = cells(staff.get(LIST)).values()
    assert row[:4] == [
        "tea-box↗ (opens in a new tab) QR (test)",
        "100.00 ILS",
        "2 payments · 220.50 ILS1 payment · 7.00 JOD",
        "✓ active ◇ test",
    ]
    assert row[4].startswith("2026-11-27 ")


def test_the_link_is_the_public_address_and_can_be_copied(
    tea_box: PaymentPage, staff: Client, sandbox: Sandbox
) -> None:
    shown = text(staff.get(LIST))
    assert f'href="{sandbox.pay_url}/tea-box"' in shown
    assert f'data-copy="{sandbox.pay_url}/tea-box"' in shown
    assert "<button" not in shown[shown.index('class="pp-copy"') :].split("</td>")[0], (
        "a script adds the button: without one there is no dead one"
    )


def test_what_was_sold_is_counted_where_its_link_leads(
    tea_box: PaymentPage, staff: Client, sandbox: Sandbox
) -> None:
    other = mirror_another(sandbox, slug="other", amount=5)
    pay(tea_box, 10000)
    pay(tea_box, 10000, days=28)
    pay(tea_box, 10000, days=31)
    pay(tea_box, 10000, status="failed")
    pay(tea_box, 10000, domain="live")
    pay(tea_box, 10000, currency="USD")
    pay(other, 5)
    shown = text(staff.get(LIST))
    listed = cells(staff.get(LIST))
    assert listed["Tea box"][2] == "2 payments · 200.00 ILS1 payment · 100.00 USD"
    assert listed["Another"][2] == "1 payment · 0.05 ILS"
    links = [
        part.split('"')[0] for part in shown.split('href="/admin/payments_pages/transaction/?')
    ]
    address = next(
        "/admin/payments_pages/transaction/?" + link.replace("&amp;", "&")
        for link in links[1:]
        if f"page__id__exact={tea_box.pk}" in link and "currency=ILS" in link
    )
    response = staff.get(address)
    assert response.status_code == 200, "the list takes the link's parameters"
    assert response.context["cl"].result_count == 2
    detail = text(staff.get(change_url(tea_box)))
    assert "3 payments</span> · " in detail, "all-time, on the page's own place"


def test_sums_are_for_who_may_see_payments(
    tea_box: PaymentPage, person: Callable[..., Client]
) -> None:
    pay(tea_box, 12050)
    viewer = person("view_paymentpage")
    assert "120.50" not in text(viewer.get(LIST))
    assert "120.50" not in text(viewer.get(change_url(tea_box)))
    assert "120.50" in text(person("view_paymentpage", "view_transaction").get(LIST))


def fill(count: int) -> None:
    PaymentPage.objects.bulk_create(
        PaymentPage(
            remote_id=100 + n, name=f"Page {n}", slug=f"p-{n}", slug_key=slug_key(f"p-{n}"),
            amount=n % 3 + 1, currency="ILS", domain="test",
        )
        for n in range(PaymentPage.objects.count(), count)
    )  # fmt: skip


def test_a_hundred_rows_cost_as_many_queries_as_ten_and_at_most_twelve(staff: Client) -> None:
    counts = []
    for size in (10, 100):
        fill(size)
        for page in PaymentPage.objects.all():
            pay(page, 100)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert len(cells(staff.get(LIST))) == size
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 12


STATES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "✓ active ◇ test", "active"),
    ({"active": False}, "○ inactive ◇ test", "inactive"),
    ({"remote_id": None}, "? not confirmed by the service ◇ test", "unconfirmed"),
    ({"missing_since": timezone.now()}, "✗ missing at the service ◇ test", "missing"),
    ({"drift": {"amount": 5}}, "✓ active Δ changed at the service ◇ test", "drift"),
    ({"domain": "live"}, "✓ active ! of the other mode: live", "active"),
]


@pytest.mark.parametrize(("fields", "badges", "state"), STATES, ids=[s[2] for s in STATES])
def test_a_state_is_a_word_with_a_shape_and_can_be_filtered_by(
    tea_box: PaymentPage, staff: Client, fields: dict[str, Any], badges: str, state: str
) -> None:
    PaymentPage.objects.update(**fields)
    assert cells(staff.get(LIST))["Tea box"][3] == badges
    assert staff.get(LIST, {"state": state}).context["cl"].result_count == 1
    others = {"active", "inactive", "unconfirmed", "missing"} - {state}
    if state != "drift":
        for other in others:
            assert staff.get(LIST, {"state": other}).context["cl"].result_count == 0, other
    assert staff.get(LIST, {"state": "nonsense"}).context["cl"].result_count == 0


def test_filters_ask_nothing_of_the_table(tea_box: PaymentPage, staff: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        staff.get(LIST)
    assert not [query for query in queries if "DISTINCT" in query["sql"]]
    for filters, count in (
        ({"currency": "ILS"}, 1),
        ({"currency": "JOD"}, 0),
        ({"domain": "live"}, 0),
    ):
        assert staff.get(LIST, filters).context["cl"].result_count == count


def test_active_pages_of_equal_price_are_named_with_links(sandbox: Sandbox, staff: Client) -> None:
    pages: dict[str, dict[str, Any]] = {
        "one": {"amount": 100}, "two": {"amount": 100}, "off": {"amount": 100, "active": False},
        "jod": {"amount": 100, "currency": "JOD"}, "free": {}, "free2": {}, "alone": {"amount": 7},
    }  # fmt: skip
    for slug, fields in pages.items():
        sandbox.add_page(name=slug, slug=slug, **fields)
    sync_pages()
    one, two = (PaymentPage.objects.get(slug=slug) for slug in ("one", "two"))
    shown = text(staff.get(LIST))
    notice = shown[shown.index("same price and currency") :].split("</details>")[0]
    for page in (one, two):
        assert f'href="{change_url(page)}"' in notice
    assert notice.count("<a ") == 2
    assert "1.00\u00a0ILS" in notice
    detail = text(staff.get(change_url(one)))
    assert "same price and currency" in detail
    assert f'href="{change_url(two)}"' in detail
    for slug in ("off", "jod", "free", "alone"):
        page = PaymentPage.objects.get(slug=slug)
        assert "same price and currency" not in text(staff.get(change_url(page)))


def test_many_pages_of_equal_price_do_not_fill_the_list(staff: Client) -> None:
    fill(500)
    shown = text(staff.get(LIST))
    notice = shown[shown.index("same price and currency") :].split("</details>")[0]
    assert notice.count("<a ") == 15
    assert notice.count("and others") == 3, "of each price, some"


def test_a_payer_who_does_not_come_back_here_is_told_of(
    tea_box: PaymentPage, staff: Client
) -> None:
    ours = f"https://testserver/payments/callback/{tea_box.token}/"
    for address, warned in ((ours, False), ("https://elsewhere.example/", True), ("", True)):
        PaymentPage.objects.update(redirect_url=address)
        shown = text(staff.get(change_url(tea_box)))
        assert ("Payers do not come back to this site" in shown) is warned
        assert (f"{ours}</bdi>" in shown) or not warned


def test_a_test_page_says_so(tea_box: PaymentPage, staff: Client) -> None:
    assert "moves no money" in text(staff.get(change_url(tea_box)))


def test_an_address_of_another_scheme_leads_nowhere(tea_box: PaymentPage, staff: Client) -> None:
    for address in ("javascript:alert(1)", "data:text/html,x", "http://[x"):
        PaymentPage.objects.update(redirect_url=address, metadata={"logo_url": address})
        shown = text(staff.get(change_url(tea_box)))
        assert f'href="{address}' not in shown
        assert address in shown


def test_logo_and_questions_are_fields_and_other_metadata_is_kept_apart(
    tea_box: PaymentPage, staff: Client
) -> None:
    PaymentPage.objects.update(
        metadata={"logo_url": "https://shop.example/l.png", "payments_pages_token": "x", "k": 5},
        custom_fields=[{"display_name": "<i>Phone</i>", "variable_name": "phone"}, "odd", {"a": 1}],
    )
    shown = text(staff.get(change_url(tea_box)))
    assert '<a href="https://shop.example/l.png"' in shown
    extra = shown[shown.index("field-extra") :]
    assert "&quot;k&quot;: 5" in extra
    assert "payments_pages_token" not in shown
    table = list(rows(shown))
    assert ["<i>Phone</i>", "phone"] in table
    assert ["odd", ""] in table
    assert ["{'a': 1}", ""] in table


@pytest.mark.parametrize("reader", ["Etc/GMT+12", "UTC", "Etc/GMT-14"])
def test_sold_is_counted_by_the_days_of_the_project_for_every_reader(
    tea_box: PaymentPage, staff: Client, settings: Any, reader: str
) -> None:
    """At any moment it is another day for one of these readers than for the project."""
    settings.TIME_ZONE = "Asia/Hebron"
    expected = last_days()
    assert [bound.tzinfo for bound in expected] == [timezone.get_default_timezone()] * 2
    with timezone.override(reader):
        assert last_days() == expected
        assert take_totals("test") == ()
        pay(tea_box, 10000)
        (found,) = take_totals("test")
        assert (found.days[0].since, found.days[-1].until) == expected


def test_an_empty_list_says_what_to_do(
    staff: Client, person: Callable[..., Client], sandbox: Sandbox
) -> None:
    shown = text(staff.get(LIST))
    assert "There are no payment pages yet." in shown
    assert f'<a href="{ADD}">Make your first page</a>' in shown
    assert "after a sync" in shown
    assert "0 payment pages" not in shown
    viewer = text(person("view_paymentpage").get(LIST))
    assert "There are no payment pages yet." in viewer
    assert "Make your first page" not in viewer
    assert "after a sync" not in viewer


@pytest.mark.parametrize("query", [{"q": "nothing"}, {"state": "missing"}, {"currency": "JOD"}])
def test_a_list_in_which_nothing_is_found_leads_back_to_all(
    tea_box: PaymentPage, staff: Client, query: dict[str, str]
) -> None:
    shown = text(staff.get(LIST, query))
    assert "Nothing found." in shown
    assert '<a href="?">Clear search and filters</a>' in shown
    assert "Make your first page" not in shown
    assert "pp-nothing" not in text(staff.get(LIST))
