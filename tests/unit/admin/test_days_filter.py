"""A list is narrowed to days, from one to another; days are those of the reader's time zone."""

import datetime as dt
import re
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from payments_pages.admin import days_filter
from payments_pages.models import Transaction
from tests.unit.admin.test_lists import NOON, TRANSACTIONS, listed, pay

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    return client


def days(first: str = "", last: str = "") -> dict[str, str]:
    return {"paid_at__from": first, "paid_at__to": last}


def form(response: Any) -> str:
    found = re.search(
        r'<form method="get" class="pp-days">.*?</form>', response.content.decode(), re.S
    )
    assert found
    return found[0]


def choices(response: Any) -> list[dict[str, Any]]:
    changelist = response.context["cl"]
    spec = next(s for s in changelist.filter_specs if isinstance(s, days_filter.DaysFilter))
    return list(spec.choices(changelist))


def selected(response: Any) -> list[str]:
    return [choice["display"] for choice in choices(response) if choice["selected"]]


class TestFromTo:
    """The suite's zone is Asia/Hebron: UTC+2 in winter, +3 in summer."""

    @pytest.fixture(autouse=True)
    def rows(self) -> None:
        """Clocks there went forward on 28 March 2026: that day has 23 hours."""
        pay(1, paid_at=dt.datetime(2026, 3, 27, 21, 59, tzinfo=dt.UTC))
        pay(2, paid_at=dt.datetime(2026, 3, 27, 22, 1, tzinfo=dt.UTC))
        pay(3, paid_at=dt.datetime(2026, 3, 28, 20, 59, tzinfo=dt.UTC))
        pay(4, paid_at=dt.datetime(2026, 3, 28, 21, 1, tzinfo=dt.UTC))
        pay(5, paid_at=None)

    @pytest.mark.parametrize(
        ("first", "last", "found"),
        [
            ("2026-03-28", "2026-03-28", ["T-3", "T-2"]),
            ("2026-03-27", "2026-03-28", ["T-3", "T-2", "T-1"]),
            ("2026-03-29", "", ["T-4"]),
            ("", "2026-03-27", ["T-1"]),
            ("٢٠٢٦-٠٣-٢٩", "", ["T-4"]),
            (" 2026-03-29\u200f", "", ["T-4"]),
            ("", "", ["T-5", "T-4", "T-3", "T-2", "T-1"]),
        ],
    )
    def test_both_days_are_in_it(
        self, staff: Client, first: str, last: str, found: list[str]
    ) -> None:
        assert listed(staff.get(TRANSACTIONS, days(first, last))) == found

    def test_a_reader_in_another_zone_has_other_days(self, staff: Client) -> None:
        with timezone.override("Asia/Tokyo"):
            found = staff.get(TRANSACTIONS, days("2026-03-28", "2026-03-28"))
            assert listed(found) == ["T-2", "T-1"]
            assert "(Tokyo)" in found.content.decode()

    def test_what_was_typed_stays_in_the_form_with_the_other_filters(self, staff: Client) -> None:
        query = {**days("2026-03-28", "2026-03-29"), "status": "success", "q": "T-"}
        shown = form(staff.get(TRANSACTIONS, query))
        assert 'name="paid_at__from" value="2026-03-28"' in shown
        assert 'name="paid_at__to" value="2026-03-29"' in shown
        assert '<input type="hidden" name="status" value="success">' in shown
        assert '<input type="hidden" name="q" value="T-">' in shown
        assert shown.count('name="paid_at__from"') == 1

    @pytest.mark.parametrize(
        "wrong", ["2026-13-45", "2026-02-29", "yesterday", "0000-01-01", "9999-12-31", "20260328",
                  "2026-W13-1", "28/03/2026", "<b>x", "a\0"]
    )  # fmt: skip
    @pytest.mark.parametrize("end", ["paid_at__from", "paid_at__to"])
    def test_what_is_no_date_gets_a_sentence_and_finds_nothing(
        self, staff: Client, wrong: str, end: str
    ) -> None:
        response = staff.get(TRANSACTIONS, {end: wrong})
        assert listed(response) == []
        assert "is not a date. Write it like 2026-11-27." in form(response)
        assert 'aria-describedby="pp-days-trouble"' in form(response)
        assert "<b>x" not in response.content.decode()

    def test_an_end_before_the_begin_gets_a_sentence_too(self, staff: Client) -> None:
        response = staff.get(TRANSACTIONS, days("2026-03-29", "2026-03-28"))
        assert listed(response) == []
        assert "The first day is after the last one." in form(response)

    def test_what_is_paid_in_some_days_is_ordered_by_when(self, staff: Client) -> None:
        pay(6, paid_at=NOON)
        assert listed(staff.get(TRANSACTIONS, days(last="2026-03-28"))) == [
            "T-3",
            "T-2",
            "T-1",
            "T-6",
        ]

    def test_an_export_has_the_same_days(self, staff: Client) -> None:
        url = f"{TRANSACTIONS}export/?paid_at__from=2026-03-29"
        lines = b"".join(staff.post(url).streaming_content).decode().splitlines()
        assert len(lines) == 2


class TestPeriods:
    @pytest.fixture
    def today(self, monkeypatch: pytest.MonkeyPatch) -> dt.date:
        day = dt.date(2026, 3, 31)
        monkeypatch.setattr(timezone, "localdate", lambda *_a, **_k: day)
        return day

    @pytest.mark.parametrize(
        ("name", "first", "last"),
        [
            ("Today", "2026-03-31", "2026-03-31"),
            ("Last 7 days", "2026-03-25", "2026-03-31"),
            ("This month", "2026-03-01", "2026-03-31"),
            ("Last month", "2026-02-01", "2026-02-28"),
        ],
    )
    def test_what_people_often_want_is_one_click(
        self, staff: Client, today: dt.date, name: str, first: str, last: str
    ) -> None:
        offered = {choice["display"]: choice for choice in choices(staff.get(TRANSACTIONS))}
        response = staff.get(TRANSACTIONS + offered[name]["query_string"])
        assert name in selected(response)
        assert f'name="paid_at__from" value="{first}"' in form(response)
        assert f'name="paid_at__to" value="{last}"' in form(response)

    def test_all_dates_leads_back_to_everything_and_keeps_the_rest(self, staff: Client) -> None:
        pay(1)
        pay(2, paid_at=None)
        pay(3, status="failed")
        query = {**days("2026-03-15"), "status": "success"}
        narrowed = staff.get(TRANSACTIONS, query)
        assert listed(narrowed) == ["T-1"]
        (everything,) = (c for c in choices(narrowed) if c["display"] == "All dates")
        response = staff.get(TRANSACTIONS + everything["query_string"])
        assert listed(response) == ["T-2", "T-1"]
        assert selected(response) == ["All dates"]

    def test_the_times_of_a_link_are_shown_as_what_they_are(self, staff: Client) -> None:
        pay(1)
        pay(2, paid_at=NOON + dt.timedelta(days=9))
        week = {
            "paid_at__gte": "2026-03-10 00:00:00+02:00",
            "paid_at__lt": "2026-03-17 00:00:00+02:00",
        }
        response = staff.get(TRANSACTIONS, week)
        assert listed(response) == ["T-1"]
        assert selected(response) == ["2026-03-10 00:00 – 2026-03-17 00:00"]
        # Days that are chosen then take the place of those times.
        assert "paid_at__gte" not in form(response)


def test_a_day_whose_midnight_is_skipped_begins_an_hour_later(staff: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Africa/Cairo"
    zone = ZoneInfo("Africa/Cairo")
    pay(1, paid_at=dt.datetime(2026, 4, 23, 23, 59, tzinfo=zone))
    pay(2, paid_at=dt.datetime(2026, 4, 24, 1, 0, tzinfo=zone))
    assert listed(staff.get(TRANSACTIONS, days("2026-04-24"))) == ["T-2"]
    assert listed(staff.get(TRANSACTIONS, days(last="2026-04-23"))) == ["T-1"]
    assert Transaction.objects.count() == 2
