"""A sync of thousands of pages asks the database little and holds few of them at a time."""

import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from payments_pages.models import PaymentPage
from payments_pages.pages import slug_key, sync_pages
from payments_pages.sandbox import Sandbox
from tests.support.scale import count

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PAGES = count(2_000, 10_000)
FEW = 400
PER_PAGE_OF_THE_SEEN = 200
"""Bytes that may be kept of a page until the end: that it was seen."""


def mirror_many(sandbox: Sandbox, pages: int) -> None:
    """Put pages at the service and into the mirror, as a sync would have."""
    rows = []
    for number in range(pages):
        page = sandbox.add_page(slug=f"page-{number}", name=f"Page {number}", amount=1000 + number)
        rows.append(
            PaymentPage(
                remote_id=page["id"],
                name=page["name"],
                description=page["description"] or "",
                slug=page["slug"],
                slug_key=slug_key(page["slug"]),
                amount=page["amount"],
                currency=page["currency"],
                domain=page["domain"],
            )
        )
    PaymentPage.objects.bulk_create(rows, batch_size=500)
    sync_pages()  # whatever this left out of the rows is the same from now on


def peak_of_a_sync() -> int:
    tracemalloc.start()
    try:
        sync_pages()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_sync_of_thousands_of_unchanged_pages_costs_a_statement_per_hundred(
    sandbox: Sandbox,
) -> None:
    mirror_many(sandbox, PAGES)
    with CaptureQueriesContext(connection) as queries:
        report = sync_pages()
    assert report.unchanged == PAGES
    beside = 4  # what ends the sync
    assert len(queries) <= PAGES / 100 + beside


def test_a_sync_holds_no_more_of_thousands_of_pages_than_that_it_has_seen_them(
    sandbox: Sandbox,
) -> None:
    mirror_many(sandbox, FEW)
    few = peak_of_a_sync()
    sandbox.reset()
    PaymentPage.objects.all().delete()
    mirror_many(sandbox, PAGES)
    assert peak_of_a_sync() - few <= PER_PAGE_OF_THE_SEEN * (PAGES - FEW)
