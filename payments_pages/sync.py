"""Make the mirror of the pages show what the service has."""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from django.db import IntegrityError
from django.db.models import Count
from django.utils import timezone

from payments_pages.connection import get_client
from payments_pages.databases import refuse_open_transaction
from payments_pages.exceptions import ServiceError
from payments_pages.models import PaymentPage
from payments_pages.pages import mirrored_fields, slug_key
from payments_pages.resources import PageResource

__all__ = ["SyncReport", "pages_of_equal_price", "sync_pages"]

BATCH = 100
_TOKEN = re.compile(
    r"/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/?$", re.IGNORECASE
)
Item = TypeVar("Item")


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """Count what a sync found. `unfinished` are slugs whose creation was never confirmed."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    missing: int = 0
    unfinished: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """Return how many pages the service listed."""
        return self.added + self.changed + self.unchanged


def sync_pages(
    *, dry_run: bool = False, progress: Callable[[int], None] = lambda seen: None
) -> SyncReport:
    """Mirror every page that the service lists; mark those it no longer lists as missing.

    Batches of 100 in constant memory; one statement per batch of unchanged pages. `progress`
    gets the number of pages seen so far. A listing that breaks off raises `ServiceError`: what
    was mirrored stays, and nothing is called missing (case C58). Nothing is deleted or
    deactivated here.
    """
    refuse_open_transaction("sync_pages() was called")
    started = timezone.now()
    report = SyncReport()
    for resources in _batches(get_client().iterate_pages(), BATCH):
        try:
            _mirror(resources, report, dry_run=dry_run)
        except IntegrityError:
            # Another sync, or staff, made one of these rows meanwhile: now it is found.
            _mirror(resources, report, dry_run=dry_run)
        progress(report.seen)
    gone = (
        PaymentPage.objects.primary()
        .confirmed()
        .filter(missing_since__isnull=True, synced_at__lt=started)
    )
    unfinished = PaymentPage.objects.primary().filter(remote_id__isnull=True)
    if dry_run:
        return report
    report.missing = gone.update(missing_since=timezone.now())
    report.unfinished = tuple(unfinished.order_by("pk").values_list("slug", flat=True)[:100])
    return report


def pages_of_equal_price() -> list[tuple[str, int, int]]:
    """List (currency, amount in minor units, how many) that several active pages share.

    Such pages cannot be told apart by money: a payer could claim one for the other.
    """
    rows = (
        PaymentPage.objects.primary()
        .confirmed()
        .filter(active=True, amount__isnull=False)
        .values_list("currency", "amount")
        .annotate(pages=Count("pk"))
        .filter(pages__gt=1)
        .order_by("currency", "amount")
    )
    return [(currency, amount or 0, pages) for currency, amount, pages in rows]


def _mirror(resources: list[PageResource], report: SyncReport, *, dry_run: bool) -> None:
    rows = PaymentPage.objects.primary()
    by_id = {row.remote_id: row for row in rows.filter(remote_id__in=[r.id for r in resources])}
    keys = [slug_key(resource.slug) for resource in resources if resource.id not in by_id]
    # By its slug: a row whose creation was not confirmed, or a page made anew under the slug.
    by_slug = {row.slug_key: row for row in rows.filter(slug_key__in=keys)}
    new: list[PaymentPage] = []
    changed: list[PaymentPage] = []
    same: list[int] = []
    for resource in resources:
        row = by_id.get(resource.id) or by_slug.get(slug_key(resource.slug))
        if row is None:
            new.append(_apply(PaymentPage(token=_free_token(resource)), resource))
        elif _differs(row, resource):
            changed.append(_apply(row, resource))
        else:
            same.append(row.pk)
    if not dry_run:
        rows.bulk_create(new)
        if changed:
            rows.bulk_update(changed, [*_FIELDS, "synced_at", "missing_since"])
        if same:
            rows.filter(pk__in=same).update(synced_at=timezone.now(), missing_since=None)
    report.added += len(new)
    report.changed += len(changed)
    report.unchanged += len(same)


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


def _apply(row: PaymentPage, resource: PageResource) -> PaymentPage:
    for name, value in mirrored_fields(resource).items():
        setattr(row, name, value)
    row.synced_at, row.missing_since = timezone.now(), None
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


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of `size`; when the items break off, what came before that, and then the error."""
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []
    except ServiceError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
