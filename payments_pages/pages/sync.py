"""Mirror all pages that the service lists, a few lists at a time."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby

from django.utils import timezone

from payments_pages.client import PageResource, SkippedPage, get_client
from payments_pages.conf import conf
from payments_pages.db import refuse_open_transaction
from payments_pages.exceptions import InvalidResponse
from payments_pages.models import PaymentPage
from payments_pages.pages.listing import mark_as_listed, write_rows

__all__ = [
    "Sync",
    "SyncReport",
    "continue_sync",
    "finish_sync",
    "pages_of_equal_price",
    "sync_pages",
]

# The interface's default. It does not say which perPage is the largest.
PER_PAGE = 50
MAX_LISTS = 1_000
"""The number of lists after which a sync gives up: the listing may never end."""
# 200 pages: one statement reads their rows, and one marks the unchanged rows as listed.
LISTS_PER_STEP = 4
MAX_NAMED_PAGES = 20
"""The most skipped pages that a report describes."""


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """The counts of a sync.

    - `drifted`: those of the `changed` pages whose values are not the ones last set here.
    - `moved`: those of the `changed` pages that have another slug now.
    - `missing`: pages that the service no longer lists.
    - `skipped`: listed pages that could not be mirrored. `skipped_pages` has a sentence for each
      of the first 20, which names the page and says why.
    - `unfinished`: slugs of pages whose creation was never confirmed.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    drifted: int = 0
    moved: int = 0
    missing: int = 0
    skipped: int = 0
    skipped_pages: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """The number of listed pages that are mirrored."""
        return self.added + self.changed + self.unchanged


@dataclass(slots=True, kw_only=True)
class Sync:
    """The state of a sync between two steps. Another process may take the next step.

    - `number`: the list to read next, counted from 1.
    - `last`: the numbers of the pages in the list before.
    - `seen`: the numbers of the pages read so far; only `last` if another process continues.
    - `total`: the number of pages that the service says it has, or None.
    - `unidentified`: how many listed pages had no readable number. Each may be any page.
    """

    started: dt.datetime = field(default_factory=timezone.now)
    number: int = 1
    last: tuple[int, ...] = ()
    seen: set[int] = field(default_factory=set)
    total: int | None = None
    unidentified: int = 0
    done: bool = False
    report: SyncReport = field(default_factory=SyncReport)


def sync_pages(
    *, dry_run: bool = False, progress: Callable[[int], None] = lambda seen: None
) -> SyncReport:
    """Mirror every page that the service lists, and mark pages that it no longer lists as missing.

    - `dry_run` counts and writes nothing. `progress` is called with the number of pages so far.
    - A step has 200 pages, and two statements if none of them changed. Memory does not grow with
      the number of pages, except by their numbers.
    - A page that cannot be mirrored is skipped, and the report describes it.
    - Nothing is deleted or deactivated.

    Raise `ServiceError` if the listing breaks off: the pages read before it are mirrored, and no
    page is marked as missing (docs/cases.md C58).
    """
    sync = Sync()
    while not sync.done:
        before = sync.report.seen
        continue_sync(sync, dry_run=dry_run)
        if sync.report.seen > before:
            progress(sync.report.seen)
    return finish_sync(sync, dry_run=dry_run)


def continue_sync(sync: Sync, *, lists: int = LISTS_PER_STEP, dry_run: bool = False) -> None:
    """Read up to `lists` more lists of 50 pages, and mirror their pages. Lists may overlap.

    A list without any new page is the last one. A list with fewer than 50 is not: the service may
    use a smaller perPage than it was asked for.

    Raise `ServiceError` if the listing breaks off: the pages read before it are mirrored, and the
    same sync may be continued. Raise `InvalidResponse` if the listing has more than `MAX_LISTS`
    lists.
    """
    refuse_open_transaction("continue_sync() was called")
    asked_at = timezone.now()
    fresh: list[PageResource] = []
    skipped: list[SkippedPage] = []
    try:
        for _list in range(lists):
            fresh += _next_list(sync, skipped)
            if sync.done:
                break
    finally:
        _mirror(fresh, skipped, sync, asked_at=asked_at, dry_run=dry_run)


def finish_sync(sync: Sync, *, dry_run: bool = False) -> SyncReport:
    """Mark the pages that were not listed as missing; return the report.

    `dry_run` only counts them; the same process must have made all steps.

    Raise `InvalidResponse`, and mark nothing, if a listed page had no readable number: it may be
    any page.
    """
    if sync.unidentified:
        reasons = " ".join(sync.report.skipped_pages)
        message = f"{sync.unidentified} listed pages cannot be told apart: {reasons}"
        raise InvalidResponse(message)
    rows = PaymentPage.objects.primary()
    # The service lists only the pages of our key's mode. Pages of the other mode are not missing.
    confirmed = rows.confirmed().filter(domain=conf.mode, missing_since__isnull=True)
    if dry_run:
        numbers = confirmed.values_list("remote_id", flat=True)
        sync.report.missing = sum(number not in sync.seen for number in numbers.iterator())
    else:
        unlisted = confirmed.filter(synced_at__lt=sync.started)
        sync.report.missing = unlisted.update(missing_since=timezone.now())
    unfinished = rows.filter(remote_id__isnull=True, domain__in=("", conf.mode)).order_by("pk")
    sync.report.unfinished = tuple(unfinished.values_list("slug", flat=True)[:100])
    return sync.report


def pages_of_equal_price() -> list[tuple[str, int, tuple[str, ...]]]:
    """Return (currency, amount in minor units, slugs) of prices that pages share.

    Only active pages of this mode count. A payment's amount does not tell such pages apart: a
    payer of one could claim to have paid on the other.
    """
    priced = PaymentPage.objects.primary().on_sale().filter(domain=conf.mode)
    rows = priced.order_by("currency", "amount", "slug").values_list("currency", "amount", "slug")
    # Grouped here, not by the database: no aggregate joins texts on all four databases.
    groups = groupby(rows.iterator(), key=lambda row: row[:2])
    found = [(price, tuple(slug for _currency, _amount, slug in group)) for price, group in groups]
    return [(currency, amount or 0, slugs) for (currency, amount), slugs in found if len(slugs) > 1]


def _next_list(sync: Sync, skipped: list[SkippedPage]) -> list[PageResource]:
    """Read one list and return its new pages; add its unreadable items to `skipped`.

    A list without a new page ends the sync.
    """
    if sync.number > MAX_LISTS:
        raise InvalidResponse(f"The listing of pages does not end after {MAX_LISTS} lists.")
    found = get_client().list_pages(per_page=PER_PAGE, page=sync.number)
    fresh = {page.id: page for page in found.items if page.id not in sync.seen}
    unread = [item for item in found.skipped if item.number not in sync.seen]
    numbers = {item.number for item in unread if item.number is not None}
    sync.number += 1
    sync.total = found.total
    sync.done = not fresh and not numbers
    skipped += unread
    sync.seen.update(fresh, numbers)
    sync.last = (*(page.id for page in found.items), *numbers)
    return list(fresh.values())


def _mirror(
    resources: list[PageResource],
    skipped: list[SkippedPage],
    sync: Sync,
    *,
    asked_at: dt.datetime,
    dry_run: bool,
) -> None:
    # Another web server may have started this sync, and its clock may be ahead of ours.
    now = max(timezone.now(), sync.started)
    result = write_rows(resources, asked_at=asked_at, now=now, dry_run=dry_run)
    report = sync.report
    report.added += result.added
    report.changed += result.changed
    report.unchanged += result.unchanged
    report.drifted += result.drifted
    report.moved += result.moved
    unmirrored = [*skipped, *result.refused]
    report.skipped += len(unmirrored)
    report.skipped_pages += tuple(item.why for item in unmirrored)
    report.skipped_pages = report.skipped_pages[:MAX_NAMED_PAGES]
    numbers = [item.number for item in unmirrored if item.number is not None]
    sync.unidentified += len(unmirrored) - len(numbers)
    if numbers and not dry_run:
        mark_as_listed(conf.mode, numbers, now)
