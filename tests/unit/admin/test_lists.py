"""Lists count no further than they show, and filter by known words and by pages."""

import datetime as dt
import re
from typing import Any
from urllib.parse import parse_qs

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
        assert re.search(r'<bdi dir="ltr">120\+</bdi>\s+payments', shown)
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

    def test_those_that_are_paid_most_lately_come_first(
        self, staff: Client, pages: list[PaymentPage], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(filters, "NEWEST", 5)
        for number, page in enumerate((1, 7, 1, 5, 7, 5, 2)):
            pay(number, page=pages[page])
        pay(9)
        options = self.options(staff.get(TRANSACTIONS))
        assert options[1:5] == ["Page 5", "Page 2", "Page 7", "Page 69"]
        assert len(options) <= 50
        assert len(options) == len(set(options))

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


def test_an_order_that_has_no_index_is_not_taken_from_an_address(staff: Client) -> None:
    pay(1, amount=3)
    pay(2, amount=1, paid_at=NOON + dt.timedelta(days=1))
    pay(3, amount=2, paid_at=NOON + dt.timedelta(days=2))
    assert listed(staff.get(TRANSACTIONS, {"o": "2"})) == ["T-3", "T-2", "T-1"]
    assert listed(staff.get(TRANSACTIONS, {"o": "1"})) == ["T-1", "T-2", "T-3"]
    assert listed(staff.get(TRANSACTIONS, {"o": "x.99.-"})) == ["T-3", "T-2", "T-1"]


@pytest.mark.parametrize("url", [PAGES, TRANSACTIONS, VERIFICATIONS])
def test_an_empty_list_says_so_and_how_to_see_more(staff: Client, url: str) -> None:
    empty = staff.get(url).content.decode()
    assert '<div class="pp-nothing">' in empty
    assert "Nothing found." not in empty
    found = staff.get(url, {"q": "nobody-has-this"}).content.decode()
    assert re.search(r'Nothing found\..*<a href="\?">Clear search and filters</a>', found)
    assert 'class="paginator"' not in found


@pytest.mark.parametrize("url", [PAGES, TRANSACTIONS, VERIFICATIONS])
def test_a_list_with_rows_says_nothing_of_that(staff: Client, url: str) -> None:
    load(History(size=3, mode="test", now=timezone.now(), pages_count=2), events=False)
    assert "pp-nothing" not in staff.get(url).content.decode()
