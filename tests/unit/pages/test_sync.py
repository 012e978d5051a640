"""The mirror of the pages is made to show what the service lists."""

import uuid
from typing import Any

import pytest
from django.utils import timezone

from payments_pages.exceptions import InvalidResponse, ServiceError, ServiceUnavailable
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, pages_of_equal_price, sync_pages
from payments_pages.pages import sync as sync_module
from payments_pages.pages.changes import slug_key
from payments_pages.sandbox import Sandbox

pytestmark = pytest.mark.django_db


def fill(sandbox: Sandbox, count: int) -> None:
    for number in range(count):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=number + 1)


def test_a_first_sync_adds_a_second_finds_all_unchanged(sandbox: Sandbox) -> None:
    fill(sandbox, 3)
    first, second = sync_pages(), sync_pages()
    assert (first.added, first.changed, first.unchanged, first.seen) == (3, 0, 0, 3)
    assert (second.added, second.changed, second.unchanged) == (0, 0, 3)
    page = PaymentPage.objects.get(slug="page-1")
    there = sandbox.state.page_by_slug("page-1")
    assert there is not None
    assert (page.remote_id, page.name, page.amount) == (there["id"], "Page 1", 2)
    assert (page.currency, page.domain, page.active) == ("ILS", "test", True)
    assert page.synced_at is not None


def test_what_changed_there_is_changed_here(sandbox: Sandbox) -> None:
    fill(sandbox, 2)
    sync_pages()
    token = PaymentPage.objects.get(slug="page-0").token
    sandbox.set_page("page-0", name="شاي", amount=599, active=False, description="new")
    report = sync_pages()
    assert (report.added, report.changed, report.unchanged) == (0, 1, 1)
    page = PaymentPage.objects.get(slug="page-0")
    assert (page.name, page.amount, page.active, page.description) == ("شاي", 599, False, "new")
    assert page.token == token


def test_what_is_gone_there_is_marked_and_never_deleted_or_switched_off(sandbox: Sandbox) -> None:
    fill(sandbox, 2)
    sync_pages()
    gone = sandbox.state.page_by_slug("page-0")
    assert gone is not None
    del sandbox.state._pages[gone["id"]]
    assert sync_pages().missing == 1
    assert sync_pages().missing == 0, "told once"
    page = PaymentPage.objects.get(slug="page-0")
    assert page.missing_since is not None
    assert page.active
    sandbox.state._pages[gone["id"]] = gone
    sync_pages()
    page.refresh_from_db()
    assert page.missing_since is None


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100, 120])
def test_c58_every_page_is_mirrored_once_whatever_the_count(sandbox: Sandbox, count: int) -> None:
    fill(sandbox, count)
    seen: list[int] = []
    report = sync_pages(progress=seen.append)
    assert report.added == PaymentPage.objects.count() == count
    assert seen == sorted(seen)
    assert seen[-1:] == ([count] if count else [])


def test_c58_a_smaller_list_than_was_asked_for_is_no_end(sandbox: Sandbox) -> None:
    sandbox.set_account(max_per_page=7)
    fill(sandbox, 30)
    assert sync_pages().added == 30


def test_c58_a_page_made_while_listing_repeats_one_and_loses_none(sandbox: Sandbox) -> None:
    fill(sandbox, 120)

    def push() -> None:
        sandbox.add_page(slug="newest", amount=1)

    sandbox.faults.add(operation="list", kind="run", function=push, times=1)
    assert sync_pages().added == 120
    assert sync_pages().added == 1
    assert PaymentPage.objects.count() == 121


def test_c58_a_listing_that_repeats_for_ever_ends(sandbox: Sandbox) -> None:
    fill(sandbox, 3)
    item = {"id": 18, "slug": "page-0", "name": "Page 0", "currency": "ILS", "amount": 1}
    sandbox.faults.add(
        operation="list", kind="status", status=200, body={"status": True, "data": [item]}
    )
    assert sync_pages().added == 1
    assert len(sandbox.requests) <= 3


def test_c58_a_listing_without_an_end_is_told(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_module, "MAX_LISTS", 3)
    sandbox.set_account(max_per_page=2)
    fill(sandbox, 10)
    with pytest.raises(InvalidResponse, match="does not end"):
        sync_pages()
    assert PaymentPage.objects.count() == 6


@pytest.mark.parametrize("breaks_at", [1, 2])
def test_c58_a_listing_that_breaks_off_keeps_what_came_and_marks_nothing(
    sandbox: Sandbox, breaks_at: int
) -> None:
    fill(sandbox, 160)
    sync_pages()
    sandbox.set_page("page-159", name="changed")
    PaymentPage.objects.update(synced_at=timezone.now())
    sandbox.faults.add(operation="list", kind="status", status=500, skip=breaks_at)
    with pytest.raises(ServiceUnavailable):
        sync_pages()
    assert PaymentPage.objects.get(slug="page-159").name == "changed", "of the newest, listed first"
    assert not PaymentPage.objects.filter(missing_since__isnull=False).exists()
    assert PaymentPage.objects.count() == 160


@pytest.mark.parametrize(
    "data",
    [None, {}, "pages", [{"slug": "x"}], [None], [{"id": True, "slug": "x"}], [{"id": 2**63, "slug": "x"}]],
)  # fmt: skip
def test_c58_what_could_be_any_page_is_told_and_marks_nothing(sandbox: Sandbox, data: Any) -> None:
    fill(sandbox, 1)
    sync_pages()
    sandbox.faults.add(
        operation="list", kind="status", status=200, body={"status": True, "data": data}
    )
    with pytest.raises(ServiceError):
        sync_pages()
    assert PaymentPage.objects.get().missing_since is None


def test_a_dry_run_counts_and_writes_nothing(sandbox: Sandbox) -> None:
    fill(sandbox, 2)
    sync_pages()
    fill_more = sandbox.add_page(slug="more", amount=1)
    sandbox.set_page("page-0", name="changed")
    before = list(PaymentPage.objects.order_by("pk").values_list())
    report = sync_pages(dry_run=True)
    assert (report.added, report.changed, report.unchanged) == (1, 1, 1)
    assert list(PaymentPage.objects.order_by("pk").values_list()) == before
    assert fill_more["slug"] == "more"


def test_a_dry_run_counts_the_pages_that_are_no_longer_listed_and_those_that_moved(
    sandbox: Sandbox,
) -> None:
    fill(sandbox, 60)
    sync_pages()
    sandbox.set_page("page-0", slug="moved")
    row = PaymentPage.objects.get(slug="page-1")
    PaymentPage.objects.filter(pk=row.pk).update(remote_id=4711)
    report = sync_pages(dry_run=True)
    assert (report.missing, report.added, report.moved, report.unchanged) == (1, 1, 1, 58)
    assert not PaymentPage.objects.filter(missing_since__isnull=False).exists()


def test_an_unfinished_page_is_adopted_by_its_slug(sandbox: Sandbox) -> None:
    row = PaymentPage.objects.create(name="Mine", slug="page-0", slug_key=slug_key("page-0"))
    never = PaymentPage.objects.create(name="Never", slug="never", slug_key=slug_key("never"))
    fill(sandbox, 1)
    report = sync_pages()
    row.refresh_from_db()
    assert (row.remote_id, report.unfinished) == (18, ("never",))
    assert PaymentPage.objects.count() == 2
    never.refresh_from_db()
    assert never.missing_since is None


def test_a_page_of_ours_whose_row_was_lost_keeps_its_callback(sandbox: Sandbox) -> None:
    token = uuid.uuid4()
    address = f"https://shop.example/payments/callback/{token}/"
    sandbox.add_page(slug="tea-box", amount=1, redirect_url=address)
    sync_pages()
    assert PaymentPage.objects.get().token == token


def test_a_token_in_a_foreign_address_is_not_taken_over(sandbox: Sandbox) -> None:
    ours = create_page(name="Tea box", amount=1, slug="tea-box")
    for number, address in enumerate(
        (ours.redirect_url, "https://shop.example/thanks/", f"https://x.example/?t={uuid.uuid4()}")
    ):
        sandbox.add_page(slug=f"copy-{number}", amount=1, redirect_url=address)
    sync_pages()
    tokens = set(PaymentPage.objects.values_list("token", flat=True))
    assert len(tokens) == 4


def test_pages_that_money_cannot_tell_apart_are_listed(sandbox: Sandbox) -> None:
    for number, fields in enumerate((
        {"amount": 100}, {"amount": 100}, {"amount": 100, "currency": "JOD"},
        {"amount": 200}, {"amount": 200, "active": False}, {"amount": None}, {"amount": None},
    )):  # fmt: skip
        sandbox.add_page(slug=f"page-{number}", **fields)
    sync_pages()
    assert pages_of_equal_price() == [("ILS", 100, ("page-0", "page-1"))]


def test_an_unchanged_listing_costs_a_fixed_number_of_statements(
    sandbox: Sandbox, django_assert_max_num_queries: Any
) -> None:
    fill(sandbox, 100)
    sync_pages()
    with django_assert_max_num_queries(6):
        assert sync_pages().unchanged == 100
