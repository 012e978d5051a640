"""Make the mirror of the pages show what the service has, a few lists at a time."""

import datetime as dt
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.db import IntegrityError
from django.db.models import Count
from django.utils import timezone

from payments_pages.client import MAX_LISTS
from payments_pages.conf import conf
from payments_pages.connection import get_client
from payments_pages.databases import refuse_open_transaction
from payments_pages.exceptions import InvalidResponse
from payments_pages.following import mirrored_fields, note_drift, note_inactive
from payments_pages.models import PaymentPage
from payments_pages.resources import PageResource
from payments_pages.slugs import slug_key

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
# 200 pages: one statement finds their rows, one more marks the unchanged ones as seen.
LISTS = 4
_TOKEN = re.compile(
    r"/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/?$", re.IGNORECASE
)


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """Count what a sync found.

    `drifted`, of the `changed` ones, are pages that are not as they were last set here.
    `unfinished` are slugs whose creation was never confirmed.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    drifted: int = 0
    missing: int = 0
    unfinished: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """Return how many pages the service listed."""
        return self.added + self.changed + self.unchanged


@dataclass(slots=True, kw_only=True)
class Sync:
    """Be one sync between two of its steps; it may be put down and taken up elsewhere.

    `number` is the list to ask for next, `last` the pages of the list before, `seen` those of
    which we know that they were mirrored: all of them, or only `last` where a sync was taken up
    again. `total` is what the service says it has, if it says so. `skipped` items could not be
    read; `why` is said of the first.
    """

    started: dt.datetime = field(default_factory=timezone.now)
    number: int = 1
    last: tuple[int, ...] = ()
    seen: set[int] = field(default_factory=set)
    total: int | None = None
    skipped: int = 0
    why: str = ""
    done: bool = False
    report: SyncReport = field(default_factory=SyncReport)


def sync_pages(
    *, dry_run: bool = False, progress: Callable[[int], None] = lambda seen: None
) -> SyncReport:
    """Mirror every page that the service lists; mark those it no longer lists as missing.

    In steps of 200 and constant memory, save 8 bytes a page; two statements per step of
    unchanged pages. `progress` gets the number of pages seen so far. A listing that breaks off
    raises `ServiceError`: what was mirrored stays, and nothing is called missing (case C58).
    Nothing is deleted or deactivated here.
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
    try:
        for _list in range(lists):
            new = _next_list(sync)
            fresh += new
            sync.done = not new
            if sync.done:
                break
    finally:
        _mirror(fresh, sync, asked_at=asked_at, dry_run=dry_run)


def finish_sync(sync: Sync, *, dry_run: bool = False) -> SyncReport:
    """Mark what was not listed as missing; return the counts.

    Raise `InvalidResponse`, and mark nothing, if an item could not be read: it may be any page.
    """
    if sync.skipped:
        message = f"{sync.skipped} listed pages cannot be read: {sync.why}"
        raise InvalidResponse(message)
    if dry_run:
        return sync.report
    rows = PaymentPage.objects.primary()
    # The service lists the pages of our key's mode alone: those of the other are not gone.
    listed = rows.confirmed().filter(domain__in=("", conf.mode))
    gone = listed.filter(missing_since__isnull=True, synced_at__lt=sync.started)
    sync.report.missing = gone.update(missing_since=timezone.now())
    unfinished = rows.filter(remote_id__isnull=True).order_by("pk")
    sync.report.unfinished = tuple(unfinished.values_list("slug", flat=True)[:100])
    return sync.report


def pages_of_equal_price() -> list[tuple[str, int, int]]:
    """List (currency, amount in minor units, how many) that several active pages share.

    Such pages cannot be told apart by money: a payer could claim one for the other.
    """
    rows = (
        PaymentPage.objects.primary()
        .on_sale()
        .values_list("currency", "amount")
        .annotate(pages=Count("pk"))
        .filter(pages__gt=1)
        .order_by("currency", "amount")
    )
    return [(currency, amount or 0, pages) for currency, amount, pages in rows]


def _next_list(sync: Sync) -> list[PageResource]:
    """Read one list; return its pages that were not seen yet."""
    if sync.number > MAX_LISTS:
        raise InvalidResponse(f"The listing of pages does not end after {MAX_LISTS} lists.")
    found = get_client().list_pages(per_page=PER_PAGE, page=sync.number)
    fresh = {page.id: page for page in found.items if page.id not in sync.seen}
    sync.number += 1
    sync.total = found.total
    sync.skipped += len(found.skipped)
    sync.why = sync.why or next(iter(found.skipped), "")
    sync.seen.update(fresh)
    sync.last = tuple(page.id for page in found.items)
    return list(fresh.values())


def _mirror(
    resources: list[PageResource], sync: Sync, *, asked_at: dt.datetime, dry_run: bool
) -> None:
    if not resources:
        return
    try:
        _write(resources, sync, asked_at=asked_at, dry_run=dry_run)
    except IntegrityError:
        # Another sync, or staff, made one of these rows meanwhile: now it is found.
        _write(resources, sync, asked_at=asked_at, dry_run=dry_run)


def _write(
    resources: list[PageResource], sync: Sync, *, asked_at: dt.datetime, dry_run: bool
) -> None:
    rows = PaymentPage.objects.primary()
    by_id = {row.remote_id: row for row in rows.filter(remote_id__in=[r.id for r in resources])}
    keys = [slug_key(resource.slug) for resource in resources if resource.id not in by_id]
    # By its slug: a row whose creation was not confirmed, or a page made anew under the slug.
    by_slug = {row.slug_key: row for row in rows.filter(slug_key__in=keys)}
    # Another web server began this sync, perhaps by a clock that is ahead of ours.
    now = max(timezone.now(), sync.started)
    new: list[PaymentPage] = []
    changed: list[PaymentPage] = []
    same: list[int] = []
    newer = 0
    for resource in resources:
        row = by_id.get(resource.id) or by_slug.get(slug_key(resource.slug))
        if row is None:
            new.append(_apply(PaymentPage(token=_free_token(resource)), resource, now))
        elif row.synced_at is not None and row.synced_at >= asked_at:
            # It was saved after we asked: the list is older than what the mirror shows.
            newer += 1
        elif _differs(row, resource):
            changed.append(_apply(row, resource, now))
        else:
            same.append(row.pk)
    if not dry_run:
        rows.bulk_create(new)
        if changed:
            rows.bulk_update(
                changed, [*_FIELDS, "drift", "inactive_since", "synced_at", "missing_since"]
            )
        if same:
            rows.filter(pk__in=same).update(synced_at=now, missing_since=None)
    report = sync.report
    report.added += len(new)
    report.changed += len(changed)
    report.unchanged += len(same) + newer
    report.drifted += sum(bool(row.drift) for row in changed)


_FIELDS = (
    "remote_id",
    "slug",
    "slug_key",
    "name",
    "description",
    "domain",
    "active",
    "amount",
    "currency",
    "redirect_url",
    "custom_fields",
    "metadata",
    "created_at",
    "updated_at",
)


def _apply(row: PaymentPage, resource: PageResource, now: dt.datetime) -> PaymentPage:
    fields = mirrored_fields(resource)
    if row.pk is not None:
        note_drift(row, fields)
        note_inactive(row, fields)
    for name, value in fields.items():
        setattr(row, name, value)
    row.synced_at, row.missing_since = now, None
    return row


def _differs(row: PaymentPage, resource: PageResource) -> bool:
    return any(getattr(row, name) != value for name, value in mirrored_fields(resource).items())


def _free_token(resource: PageResource) -> uuid.UUID:
    """Return the callback token in a page's own redirect address, if it is one of ours.

    A page made by this site whose row was lost then keeps its callback.
    """
    match = _TOKEN.search(urlsplit(resource.redirect_url).path) if resource.redirect_url else None
    if match is None:
        return uuid.uuid4()
    token = uuid.UUID(match[1])
    taken = PaymentPage.objects.primary().filter(token=token).exists()
    return uuid.uuid4() if taken else token
