"""Make the mirror of the pages show what the service has, a few lists at a time."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db.models import Count
from django.utils import timezone

from payments_pages.client import PageResource, SkippedPage, get_client
from payments_pages.conf import conf
from payments_pages.db import refuse_open_transaction
from payments_pages.exceptions import InvalidResponse
from payments_pages.models import PaymentPage
from payments_pages.pages.listing import touch_rows, write_rows

__all__ = [
    "Sync",
    "SyncReport",
    "continue_sync",
    "finish_sync",
    "pages_of_equal_price",
    "sync_pages",
]

# The interface's own default: a largest perPage is not shown.
PER_PAGE = 50
MAX_LISTS = 1_000
"""Lists that a sync asks for before it takes the listing for an endless one."""
# 200 pages: one statement finds their rows, one more marks the unchanged ones as seen.
LISTS = 4
NAMED = 20
"""Pages that a report names of those it left out."""


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """Count what a sync found.

    `drifted`, of the `changed` ones, are pages that are not as they were last set here.
    `skipped` pages are listed and could not be mirrored: `skipped_pages` says of the first 20
    which they are, and why. `unfinished` are slugs whose creation was never confirmed.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    drifted: int = 0
    missing: int = 0
    skipped: int = 0
    skipped_pages: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """Return how many listed pages are mirrored."""
        return self.added + self.changed + self.unchanged


@dataclass(slots=True, kw_only=True)
class Sync:
    """Be one sync between two of its steps; it may be put down and taken up elsewhere.

    `number` is the list to ask for next, `last` the pages of the list before, `seen` those of
    which we know that they were mirrored: all of them, or only `last` where a sync was taken up
    again. `total` is what the service says it has, if it says so. `nameless` items could not be
    read, not even their number: each may be any page.
    """

    started: dt.datetime = field(default_factory=timezone.now)
    number: int = 1
    last: tuple[int, ...] = ()
    seen: set[int] = field(default_factory=set)
    total: int | None = None
    nameless: int = 0
    done: bool = False
    report: SyncReport = field(default_factory=SyncReport)


def sync_pages(
    *, dry_run: bool = False, progress: Callable[[int], None] = lambda seen: None
) -> SyncReport:
    """Mirror every page that the service lists; mark those it no longer lists as missing.

    In steps of 200 and constant memory, save 8 bytes a page; two statements per step of
    unchanged pages. `progress` gets the number of pages seen so far. A listing that breaks off
    raises `ServiceError`: what was mirrored stays, and nothing is called missing (docs/cases.md C58). A
    page that cannot be mirrored is left out and named in the report. Nothing is deleted or
    deactivated here.
    """
    sync = Sync()
    while not sync.done:
        before = sync.report.seen
        continue_sync(sync, dry_run=dry_run)
        if sync.report.seen > before:
            progress(sync.report.seen)
    return finish_sync(sync, dry_run=dry_run)


def continue_sync(sync: Sync, *, lists: int = LISTS, dry_run: bool = False) -> None:
    """Read up to `lists` more lists of 50 and mirror what they hold, however they overlap.

    An empty list, or one that brings nothing new, is the end: a short one is not, for the
    largest perPage is not shown. Raise `ServiceError` where the listing breaks off: what came
    before is mirrored, and the same sync may be continued. Raise `InvalidResponse` when it does
    not end after `MAX_LISTS` lists.
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
    """Mark what was not listed as missing; return the counts.

    Raise `InvalidResponse`, and mark nothing, if an item had no number: it may be any page.
    """
    if sync.nameless:
        named = " ".join(sync.report.skipped_pages)
        message = f"{sync.nameless} listed pages cannot be told apart: {named}"
        raise InvalidResponse(message)
    if dry_run:
        return sync.report
    rows = PaymentPage.objects.primary()
    # The service lists the pages of our key's mode alone: those of the other are not gone.
    listed = rows.confirmed().filter(domain=conf.mode)
    gone = listed.filter(missing_since__isnull=True, synced_at__lt=sync.started)
    sync.report.missing = gone.update(missing_since=timezone.now())
    unfinished = rows.filter(remote_id__isnull=True, domain__in=("", conf.mode)).order_by("pk")
    sync.report.unfinished = tuple(unfinished.values_list("slug", flat=True)[:100])
    return sync.report


def pages_of_equal_price() -> list[tuple[str, int, int]]:
    """List (currency, amount in minor units, how many) that several active pages share.

    Such pages cannot be told apart by money: a payer could claim one for the other.
    """
    rows = (
        PaymentPage.objects.primary()
        .on_sale()
        .filter(domain=conf.mode)
        .values_list("currency", "amount")
        .annotate(pages=Count("pk"))
        .filter(pages__gt=1)
        .order_by("currency", "amount")
    )
    return [(currency, amount or 0, pages) for currency, amount, pages in rows]


def _next_list(sync: Sync, skipped: list[SkippedPage]) -> list[PageResource]:
    """Read one list; return its pages that were not seen yet, and add to `skipped` what is none.

    A list that names no page for the first time is the last one.
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
    # Another web server began this sync, perhaps by a clock that is ahead of ours.
    now = max(timezone.now(), sync.started)
    written = write_rows(resources, asked_at=asked_at, now=now, dry_run=dry_run)
    report = sync.report
    report.added += written.added
    report.changed += written.changed
    report.unchanged += written.unchanged
    report.drifted += written.drifted
    left_out = [*skipped, *written.refused]
    report.skipped += len(left_out)
    report.skipped_pages += tuple(item.why for item in left_out)
    report.skipped_pages = report.skipped_pages[:NAMED]
    numbers = [item.number for item in left_out if item.number is not None]
    sync.nameless += len(left_out) - len(numbers)
    if numbers and not dry_run:
        touch_rows(conf.mode, numbers, now)
