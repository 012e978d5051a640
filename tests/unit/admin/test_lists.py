"""Lists count no further than they show, filter by known words and drill down by days."""

import datetime as dt
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from payments_pages.admin import filters, lists
from payments_pages.models import PaymentPage, Transaction
from tests.benchmarks.growth.loading import load
from tests.benchmarks.growth.rows import History

pytestmark = pytest.mark.django_db

PAGES = "/admin/payments_pages/paymentpage/"
TRANSACTIONS = "/admin/payments_pages/transaction/"
VERIFICATIONS = "/admin/payments_pages/verification/"
NOON = dt.datetime(2026, 3, 15, 12, 0, tzinfo=dt.UTC)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    return client


def pay(number: int, *, paid_at: dt.datetime | None = NOON, **fields: Any) -> Transaction:
    """Mirror a payment as the path would have."""
    return Transaction.objects.create(
        **{
            "reference": f"T-{number}",
            "reference_key": f"{number:064}",
            "domain": "test",
            "status": "success",
            "amount": 10000,
            "currency": "ILS",
            "paid_at": paid_at,
            "verified_at": NOON,
            **fields,
        }
    )


def listed(response: Any) -> list[str]:
    assert response.status_code == 200
    return [row.reference for row in response.context["cl"].result_list]


def links(response: Any, part: str) -> list[tuple[str, str]]:
    """The links of the drill-down whose address has `part`: (text, address)."""
    nav = re.search(r'<nav class="toplinks pp-periods".*?</nav>', response.content.decode(), re.S)
    assert nav
    found = re.findall(r'<a href="([^"]*)"[^>]*><bdi[^>]*>([^<]*)</bdi></a>', nav[0])
    return [(text, href.replace("&amp;", "&")) for href, text in found if part in href]


@pytest.fixture
def small_cap(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(lists, "CAP", 120)
    return 120


class TestACappedList:
    @pytest.fixture(autouse=True)
    def rows(self, small_cap: int) -> None:
        load(History(size=200, mode="test", now=timezone.now(), pages_count=2), events=False)

    def test_says_that_there_is_more_than_it_counts(self, staff: Client) -> None:
        shown = staff.get(TRANSACTIONS).content.decode()
        assert re.search(r'<bdi dir="ltr">120\+</bdi>\s+transactions', shown)
        assert 'Pages end after <bdi dir="ltr">120</bdi>' in shown
        assert 'class="question' not in shown

    def test_says_so_in_the_readers_direction(self, staff: Client) -> None:
        shown = staff.get(TRANSACTIONS, headers={"accept-language": "ar"}).content.decode()
        assert '<bdi dir="ltr">120+</bdi>' in shown

    def test_has_no_page_beyond_what_it_counts(self, staff: Client) -> None:
        assert len(listed(staff.get(TRANSACTIONS, {"p": 2}))) == 20
        assert staff.get(TRANSACTIONS, {"p": 3}).status_code == 302  # to the first page

    def test_counts_what_a_filter_leaves_exactly(self, staff: Client) -> None:
        changelist = staff.get(TRANSACTIONS, {"page__id__exact": "none"}).context["cl"]
        assert changelist.result_count == Transaction.objects.filter(page=None).count()
        assert not changelist.capped

    def test_takes_no_action_on_rows_nobody_has_counted(self, staff: Client) -> None:
        data = {"action": "verify_again", "select_across": "1", "_selected_action": ["1"]}
        response = staff.post(TRANSACTIONS, data, follow=True)
        (message,) = response.context["messages"]
        assert "more than 120 rows" in str(message)

    def test_counts_exactly_up_to_the_cap(
        self, staff: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lists, "CAP", 200)
        changelist = staff.get(TRANSACTIONS).context["cl"]
        assert (changelist.result_count, changelist.capped) == (200, False)


class TestWords:
    def test_a_status_is_chosen_and_one_that_nobody_knows_is_found_as_other(
        self, staff: Client
    ) -> None:
        pay(1)
        pay(2, status="failed")
        pay(3, status="sca_required")
        pay(4, status="")
        pay(5, status="zzz")
        assert listed(staff.get(TRANSACTIONS, {"status": "failed"})) == ["T-2"]
        assert listed(staff.get(TRANSACTIONS, {"status__exact": "failed"})) == ["T-2"]
        assert listed(staff.get(TRANSACTIONS, {"status__other": "1"})) == ["T-5", "T-4", "T-3"]

    def test_a_word_from_the_address_is_shown_as_chosen_and_escaped(self, staff: Client) -> None:
        pay(1, status="<b>new</b>")
        response = staff.get(TRANSACTIONS, {"status": "<b>new</b>"})
        assert listed(response) == ["T-1"]
        assert "<b>new" not in response.content.decode()
        assert re.search(
            r'class="selected">\s*<a href="[^"]*">&lt;b&gt;new', response.content.decode()
        )

    def test_a_word_with_a_nul_finds_nothing(self, staff: Client) -> None:
        pay(1)
        assert listed(staff.get(TRANSACTIONS, {"status": "a\0"})) == []

    def test_currencies_are_those_of_the_settings(self, staff: Client, configure: Any) -> None:
        configure(CURRENCIES={"EUR": 2})
        pay(1, currency="EUR")
        pay(2, currency="GBP")
        pay(3)
        assert listed(staff.get(TRANSACTIONS, {"currency": "EUR"})) == ["T-1"]
        assert listed(staff.get(TRANSACTIONS, {"currency__other": "1"})) == ["T-2"]

    def test_the_mode_is_in_words(self, staff: Client) -> None:
        pay(1, domain="live")
        pay(2, domain="sandbox")
        pay(3)
        assert listed(staff.get(TRANSACTIONS, {"domain": "live"})) == ["T-1"]
        assert listed(staff.get(TRANSACTIONS, {"domain__other": "1"})) == ["T-2"]

    def test_links_keep_other_filters_and_leave_their_own(self, staff: Client) -> None:
        changelist = staff.get(TRANSACTIONS, {"status": "failed", "currency": "ILS"}).context["cl"]
        spec = next(spec for spec in changelist.filter_specs if spec.title == "payment status")
        queries = [parse_qs(choice["query_string"][1:]) for choice in spec.choices(changelist)]
        assert queries[0] == {"currency": ["ILS"]}
        assert queries[1] == {"currency": ["ILS"], "status": ["success"]}
        assert queries[-1] == {"currency": ["ILS"], "status__other": ["1"]}

    def test_vouched_for_looks_only_at_what_is_still_asked_about(self, staff: Client) -> None:
        load(History(size=10, mode="test", now=timezone.now(), due=4, pages_count=1), events=False)
        changelist = staff.get(VERIFICATIONS, {"vouched__exact": "0"}).context["cl"]
        assert changelist.result_count == 2
        assert all(row.state == "due" and not row.vouched for row in changelist.result_list)


class TestPages:
    @pytest.fixture
    def pages(self) -> list[PaymentPage]:
        return [
            PaymentPage.objects.create(
                remote_id=number, name=f"Page {number}", slug_key=f"{number}", active=number != 1
            )
            for number in range(70)
        ]

    def options(self, response: Any) -> list[str]:
        changelist = response.context["cl"]
        spec = next(s for s in changelist.filter_specs if isinstance(s, filters.PageFilter))
        return [choice["display"] for choice in spec.choices(changelist)]

    def test_at_most_fifty_are_offered_and_how_to_find_another_is_said(
        self, staff: Client, pages: list[PaymentPage]
    ) -> None:
        response = staff.get(TRANSACTIONS)
        options = self.options(response)
        assert options[0] == "All"
        assert options[1] == "Page 69"
        assert options[-1] == "No page"
        assert len(options) <= 50
        assert "open the page and follow its link" in response.content.decode()

    def test_the_chosen_one_is_always_shown_by_name(
        self, staff: Client, pages: list[PaymentPage]
    ) -> None:
        pay(1, page=pages[1])
        pay(2, page=pages[2])
        pay(3)
        response = staff.get(TRANSACTIONS, {"page__id__exact": pages[1].pk})
        assert listed(response) == ["T-1"]
        assert "Page 1" in self.options(response)
        assert len(self.options(response)) <= 50
        assert listed(staff.get(TRANSACTIONS, {"page__id__exact": "none"})) == ["T-3"]

    @pytest.mark.parametrize("nonsense", ["x", "-1", "٣", "9" * 40, "1\0"])
    def test_what_is_no_page_finds_nothing(self, staff: Client, nonsense: str) -> None:
        pay(1)
        assert listed(staff.get(TRANSACTIONS, {"page__id__exact": nonsense})) == []

    def test_few_pages_need_no_hint(self, staff: Client, db: None) -> None:
        PaymentPage.objects.create(remote_id=1, name="Only", slug_key="1")
        assert "follow its link" not in staff.get(TRANSACTIONS).content.decode()


class TestPeriods:
    """Days are those of Asia/Hebron, the suite's zone: UTC+2 in winter, +3 in summer."""

    def test_years_lead_to_months_to_days_and_back(self, staff: Client) -> None:
        pay(1, paid_at=dt.datetime(2024, 11, 30, 12, tzinfo=dt.UTC))
        pay(2, paid_at=dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC))
        pay(3, paid_at=dt.datetime(2026, 2, 28, 22, 30, tzinfo=dt.UTC))  # 1 March there
        pay(4, paid_at=None)
        top = staff.get(TRANSACTIONS)
        assert listed(top) == ["T-4", "T-3", "T-2", "T-1"]
        assert [text for text, _link in links(top, "paid_at")] == ["2024", "2025", "2026"]

        year = staff.get(TRANSACTIONS + dict(links(top, "paid_at"))["2026"])
        assert listed(year) == ["T-3", "T-2"]
        assert [text for text, _link in links(year, "paid_at")] == ["2026-01", "2026-02", "2026-03"]

        month = staff.get(TRANSACTIONS + dict(links(year, "paid_at"))["2026-02"])
        assert listed(month) == ["T-2"]
        offered = links(month, "paid_at")
        assert offered[0][0] == "2026"  # back
        assert [text for text, _link in offered[1:]] == [
            f"2026-02-{day:02}" for day in range(1, 29)
        ]

        day = staff.get(TRANSACTIONS + dict(offered)["2026-02-03"])
        assert listed(day) == ["T-2"]
        assert links(day, "paid_at")[0][0] == "2026-02"
        assert '<span aria-current="true"><bdi dir="ltr">2026-02-03' in day.content.decode()

    def test_all_dates_leads_back_to_everything(self, staff: Client) -> None:
        pay(1, paid_at=dt.datetime(2024, 11, 30, 12, tzinfo=dt.UTC))
        pay(2)
        year = staff.get(TRANSACTIONS + dict(links(staff.get(TRANSACTIONS), "paid_at"))["2024"])
        (back,) = [link for text, link in links(year, "") if text == "All dates"]
        assert listed(staff.get(TRANSACTIONS + back)) == ["T-2", "T-1"]

    def test_one_years_payments_begin_with_its_months(self, staff: Client) -> None:
        pay(1)
        pay(2, paid_at=NOON + dt.timedelta(days=40))
        top = staff.get(TRANSACTIONS)
        assert [text for text, _link in links(top, "paid_at")] == ["2026-03", "2026-04"]

    def test_one_months_payments_begin_with_its_days(self, staff: Client) -> None:
        pay(1)
        pay(2, paid_at=NOON + dt.timedelta(days=2))
        texts = [text for text, _link in links(staff.get(TRANSACTIONS), "paid_at")]
        assert texts == ["2026-03-15", "2026-03-16", "2026-03-17"]

    def test_links_keep_the_filters(self, staff: Client) -> None:
        pay(1)
        pay(2, status="failed")
        ((_text, link),) = links(staff.get(TRANSACTIONS, {"status": "success"}), "paid_at")
        assert parse_qs(urlsplit(link).query)["status"] == ["success"]
        assert listed(staff.get(TRANSACTIONS + link)) == ["T-1"]

    def test_what_is_paid_in_a_period_is_ordered_by_when(self, staff: Client) -> None:
        pay(1, paid_at=NOON + dt.timedelta(hours=2))
        pay(2, paid_at=NOON + dt.timedelta(hours=3))
        pay(3, paid_at=NOON + dt.timedelta(hours=1))
        day = {
            "paid_at__gte": "2026-03-15 00:00:00+02:00",
            "paid_at__lt": "2026-03-16 00:00:00+02:00",
        }
        assert listed(staff.get(TRANSACTIONS, day)) == ["T-2", "T-1", "T-3"]
        asked = {**day, "o": "1"}
        assert listed(staff.get(TRANSACTIONS, asked)) == ["T-1", "T-2", "T-3"]

    def test_a_range_that_is_no_period_is_shown_and_leads_back(self, staff: Client) -> None:
        pay(1)
        week = {
            "paid_at__gte": "2026-03-10 00:00:00+02:00",
            "paid_at__lt": "2026-03-17 00:00:00+02:00",
        }
        response = staff.get(TRANSACTIONS, week)
        assert listed(response) == ["T-1"]
        shown = response.content.decode()
        assert "2026-03-10 00:00 – 2026-03-17 00:00" in shown
        assert links(response, "") == [("All dates", "?")]

    def test_a_day_on_which_clocks_change_has_its_own_length(self, staff: Client) -> None:
        """Clocks there went forward on 28 March 2026: that day has 23 hours."""
        pay(1, paid_at=dt.datetime(2026, 3, 27, 21, 59, tzinfo=dt.UTC))
        pay(2, paid_at=dt.datetime(2026, 3, 27, 22, 1, tzinfo=dt.UTC))
        pay(3, paid_at=dt.datetime(2026, 3, 28, 20, 59, tzinfo=dt.UTC))
        pay(4, paid_at=dt.datetime(2026, 3, 28, 21, 1, tzinfo=dt.UTC))
        days = dict(links(staff.get(TRANSACTIONS), "paid_at"))
        assert listed(staff.get(TRANSACTIONS + days["2026-03-27"])) == ["T-1"]
        assert listed(staff.get(TRANSACTIONS + days["2026-03-28"])) == ["T-3", "T-2"]
        assert listed(staff.get(TRANSACTIONS + days["2026-03-29"])) == ["T-4"]

    def test_a_services_impossible_years_offer_no_century_of_links(self, staff: Client) -> None:
        pay(1, paid_at=dt.datetime(1, 2, 1, tzinfo=dt.UTC))
        pay(2, paid_at=dt.datetime(9998, 1, 1, tzinfo=dt.UTC))
        pay(3)
        texts = [text for text, _link in links(staff.get(TRANSACTIONS), "paid_at")]
        assert texts == ["2026-03-15"]

    @pytest.mark.parametrize("query", ["paid_at__gte=nonsense", "paid_at__lt=2026-99-99"])
    def test_a_time_that_is_none_is_no_server_error(self, staff: Client, query: str) -> None:
        pay(1)
        assert staff.get(f"{TRANSACTIONS}?{query}").status_code in {200, 302}

    def test_with_no_payment_there_is_no_drill_down(self, staff: Client) -> None:
        assert "pp-periods" not in staff.get(TRANSACTIONS).content.decode()


def test_an_order_that_has_no_index_is_not_taken_from_an_address(staff: Client) -> None:
    pay(1, amount=3)
    pay(2, amount=1)
    pay(3, amount=2)
    assert listed(staff.get(TRANSACTIONS, {"o": "2"})) == ["T-3", "T-2", "T-1"]
    assert listed(staff.get(TRANSACTIONS, {"o": "1"})) == ["T-1", "T-2", "T-3"]
    assert listed(staff.get(TRANSACTIONS, {"o": "x.99.-"})) == ["T-3", "T-2", "T-1"]


@pytest.mark.parametrize("url", [PAGES, TRANSACTIONS, VERIFICATIONS])
def test_empty_lists_are_shown(staff: Client, url: str) -> None:
    assert staff.get(url).status_code == 200
