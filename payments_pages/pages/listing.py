"""Write listed pages into the mirror, each into the row that has its number.

A slug may move from one page to another at the service, also in a circle, and a row's slug key is
unique. So the slug keys are first removed from the rows that lose them, and then set on the rows
that get them.
"""

import datetime as dt
import re
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from django.db import DatabaseError, IntegrityError, transaction

from payments_pages.client import PageResource, SkippedPage
from payments_pages.db import is_transient, retry_transient
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.pages.mirror import mirrored_fields, mode_of, record_drift, record_inactive
from payments_pages.pages.slugs import slug_key

__all__ = ["WriteResult", "mark_as_listed", "write_rows"]

_TOKEN = re.compile(
    r"/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/?$", re.IGNORECASE
)
_FIELDS: Final = (
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
    "drift",
    "inactive_since",
    "synced_at",
    "missing_since",
)


@dataclass(slots=True, kw_only=True)
class WriteResult:
    """The counts of a write; `drifted` and `moved` pages are among the `changed` ones.

    `moved` pages have another slug now, and so another address.
    `refused` are pages that the database did not accept.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    drifted: int = 0
    moved: int = 0
    refused: list[SkippedPage] = field(default_factory=list)

    def add(self, other: "WriteResult") -> None:
        """Add the counts of another result."""
        self.added += other.added
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.drifted += other.drifted
        self.moved += other.moved
        self.refused += other.refused


@dataclass(slots=True, kw_only=True)
class _Plan:
    """The rows of one write, which is made in one transaction.

    - `moved_keys`: slug keys that other rows have until now.
    - `confirmed`: drafts that this list confirms; they are among the `changed` rows.
    - `unchanged`: primary keys.
    - `newer`: how many rows were saved after the list was read.
    - `moved`: how many rows get another slug.
    """

    moved_keys: list[str] = field(default_factory=list)
    confirmed: list[PaymentPage] = field(default_factory=list)
    new: list[PaymentPage] = field(default_factory=list)
    changed: list[PaymentPage] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    newer: int = 0
    moved: int = 0


def write_rows(
    resources: Sequence[PageResource], *, asked_at: dt.datetime, now: dt.datetime, dry_run: bool
) -> WriteResult:
    """Write the pages of a list that was requested at `asked_at`; return the counts.

    `now` becomes the rows' `synced_at`. A row that was saved after `asked_at` is not changed. A
    page that the database does not accept is in the result's `refused`. A short-lived error of the
    database is raised.
    """
    try:
        return _write(resources, asked_at, now, dry_run=dry_run)
    except DatabaseError as error:
        if is_transient(error):
            raise
    # Another sync or staff wrote one of these rows meanwhile, or a column does not accept a value.
    # Written one by one, the other pages are not affected.
    result = WriteResult()
    for resource in resources:
        try:
            result.add(_write([resource], asked_at, now, dry_run=dry_run))
        except DatabaseError as error:
            if is_transient(error):
                raise
            why = f"Page {resource.id} “{resource.name[:60]}” was refused by the database."
            result.refused.append(SkippedPage(resource.id, why))
    return result


def mark_as_listed(mode: str, numbers: Collection[int], now: dt.datetime) -> None:
    """Record that the service still lists these pages, which could not be mirrored."""
    rows = PaymentPage.objects.primary().filter(domain=mode, remote_id__in=numbers)
    rows.update(synced_at=now, missing_since=None)


def _write(
    resources: Sequence[PageResource], asked_at: dt.datetime, now: dt.datetime, *, dry_run: bool
) -> WriteResult:
    if not resources:
        return WriteResult()
    plan = _plan(resources, asked_at, now)
    if not dry_run:
        rows = PaymentPage.objects.primary()
        retry_transient(lambda _number: _execute(plan, now), using=rows.db)
    return WriteResult(
        added=len(plan.new),
        changed=len(plan.changed),
        unchanged=len(plan.unchanged) + plan.newer,
        drifted=sum(bool(row.drift) for row in plan.changed),
        moved=plan.moved,
    )


def _execute(plan: _Plan, now: dt.datetime) -> None:
    rows = PaymentPage.objects.primary()
    unchanged = rows.filter(pk__in=plan.unchanged)
    if not (plan.new or plan.changed):
        unchanged.update(synced_at=now, missing_since=None)
        return
    with transaction.atomic(using=rows.db):
        if plan.moved_keys:
            rows.filter(slug_key__in=plan.moved_keys).update(slug_key=None)
        for row in plan.confirmed:
            unconfirmed = rows.filter(pk=row.pk, remote_id__isnull=True)
            if not unconfirmed.update(domain=row.domain, remote_id=row.remote_id):
                raise IntegrityError("Another page was bound to this row meanwhile.")
        rows.bulk_create(plan.new)
        rows.bulk_update(plan.changed, _FIELDS)
        unchanged.update(synced_at=now, missing_since=None)
        Fulfilment.objects.primary().mark_for_decision()


def _plan(resources: Sequence[PageResource], asked_at: dt.datetime, now: dt.datetime) -> _Plan:
    """Find the row of each page, and decide what to write.

    A row is found by the page's number. A draft is found by its slug or token.
    """
    plan = _Plan()
    rows = _rows_by_number(resources)
    holders = _slug_holders(resources, rows)
    # If the list has two pages with one slug, the later one has it: it is the newer information.
    owners = {_key(resource): resource.id for resource in resources}
    owners |= {key: 0 for key, holder in holders.items() if _is_newer(holder, asked_at)}
    unknown = [resource for resource in resources if resource.id not in rows]
    rows |= _find_drafts(unknown, holders, owners)
    tokens = _choose_tokens([resource for resource in unknown if resource.id not in rows])
    for resource in resources:
        row, fields, key = rows.get(resource.id), mirrored_fields(resource), _key(resource)
        if row is not None and _is_newer(row, asked_at):
            # The row was saved after the list was requested.
            plan.newer += 1
            continue
        if owners[key] != resource.id:
            fields["slug_key"] = None
        elif key in holders and holders[key] != row:
            plan.moved_keys.append(key)
        if row is None:
            plan.new.append(_apply(PaymentPage(token=tokens[resource.id]), fields, now))
        elif any(getattr(row, name) != value for name, value in fields.items()):
            if row.remote_id is None:
                plan.confirmed.append(row)
            plan.moved += row.slug != resource.slug
            record_drift(row, fields)
            record_inactive(row, fields)
            plan.changed.append(_apply(row, fields, now))
        else:
            plan.unchanged.append(row.pk)
    return plan


def _rows_by_number(resources: Sequence[PageResource]) -> dict[int, PaymentPage]:
    """Return the rows that have these pages' numbers and modes, by number."""
    modes = {resource.id: mode_of(resource) for resource in resources}
    found = PaymentPage.objects.primary().filter(
        domain__in=set(modes.values()), remote_id__in=list(modes)
    )
    by_number = {row.remote_id: row for row in found if row.remote_id is not None}
    return {number: row for number, row in by_number.items() if row.domain == modes[number]}


def _slug_holders(
    resources: Sequence[PageResource], rows: Mapping[int, PaymentPage]
) -> dict[str, PaymentPage]:
    """Return the rows whose slugs other pages now have, by slug key."""
    sought = {
        _key(resource)
        for resource in resources
        if resource.id not in rows or rows[resource.id].slug_key != _key(resource)
    }
    if not sought:
        return {}
    found = PaymentPage.objects.primary().filter(slug_key__in=sought)
    return {row.slug_key: row for row in found if row.slug_key is not None}


def _find_drafts(
    resources: Sequence[PageResource],
    holders: Mapping[str, PaymentPage],
    owners: Mapping[str, int],
) -> dict[int, PaymentPage]:
    """Return the drafts of these pages, by the pages' numbers.

    A draft is found by its slug or, if the service chose another slug, by the token in the page's
    redirect address.
    """
    found: dict[int, PaymentPage] = {}
    for resource in resources:
        holder = holders.get(_key(resource))
        if (
            holder is not None
            and holder.remote_id is None
            and owners[_key(resource)] == resource.id
        ):
            found[resource.id] = holder
    by_token = _by_token(resource for resource in resources if resource.id not in found)
    if by_token:
        rows = PaymentPage.objects.primary().filter(
            token__in=list(by_token), remote_id__isnull=True
        )
        for row in rows.exclude(pk__in=[row.pk for row in found.values()]):
            if row.domain in {"", mode_of(by_token[row.token])}:
                found[by_token[row.token].id] = row
    return found


def _choose_tokens(resources: Sequence[PageResource]) -> dict[int, uuid.UUID]:
    """Return a callback token for each new page: that in its redirect address, or a new one.

    A page that this site made and whose row was lost thus keeps its callback. A token that a row
    already has is not used.
    """
    tokens = {resource.id: uuid.uuid4() for resource in resources}
    if by_token := _by_token(resources):
        rows = PaymentPage.objects.primary().filter(token__in=list(by_token))
        for token in by_token.keys() - set(rows.values_list("token", flat=True)):
            tokens[by_token[token].id] = token
    return tokens


def _by_token(resources: Iterable[PageResource]) -> dict[uuid.UUID, PageResource]:
    """Return the pages that have a token in their redirect address; the oldest page of each token."""
    found: dict[uuid.UUID, PageResource] = {}
    for resource in sorted(resources, key=lambda resource: resource.id):
        if (token := _token_of(resource)) is not None:
            found.setdefault(token, resource)
    return found


def _token_of(resource: PageResource) -> uuid.UUID | None:
    try:
        path = urlsplit(resource.redirect_url).path
    except ValueError:
        return None
    match = _TOKEN.search(path)
    return uuid.UUID(match[1]) if match else None


def _key(resource: PageResource) -> str:
    return slug_key(resource.slug, mode_of(resource))


def _is_newer(row: PaymentPage, asked_at: dt.datetime) -> bool:
    return row.synced_at is not None and row.synced_at >= asked_at


def _apply(row: PaymentPage, fields: Mapping[str, Any], now: dt.datetime) -> PaymentPage:
    for name, value in fields.items():
        setattr(row, name, value)
    row.synced_at, row.missing_since = now, None
    return row
