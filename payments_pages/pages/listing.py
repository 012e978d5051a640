"""Write pages that the service listed into the mirror, each into the row of its number.

Slugs change hands at the service, in chains and in circles, and a slug's key is unique: it is
taken from the rows that lose it before it is given to those that get it.
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
from payments_pages.models import PaymentPage
from payments_pages.pages.mirror import mirrored_fields, mode_of, note_drift, note_inactive
from payments_pages.pages.slugs import slug_key

__all__ = ["Written", "touch_rows", "write_rows"]

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
class Written:
    """Count what was written; `drifted` are some of the changed ones.

    `refused` are pages that a column would not take.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    drifted: int = 0
    refused: list[SkippedPage] = field(default_factory=list)

    def add(self, other: "Written") -> None:
        """Count another one's, too."""
        self.added += other.added
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.drifted += other.drifted
        self.refused += other.refused


@dataclass(slots=True, kw_only=True)
class _Plan:
    """Hold what is to be written, all or nothing.

    `freed` are keys of slugs that change hands. `bound` are rows whose creation was not confirmed
    until now; they are among the `changed`.
    """

    freed: list[str] = field(default_factory=list)
    bound: list[PaymentPage] = field(default_factory=list)
    new: list[PaymentPage] = field(default_factory=list)
    changed: list[PaymentPage] = field(default_factory=list)
    same: list[int] = field(default_factory=list)
    newer: int = 0


def write_rows(
    resources: Sequence[PageResource], *, asked_at: dt.datetime, now: dt.datetime, dry_run: bool
) -> Written:
    """Write what was listed at `asked_at` as seen `now`; return the counts.

    A row that was saved after `asked_at` is left alone. What the database refuses is left out and
    named; a passing error of the database's is raised.
    """
    try:
        return _write(resources, asked_at, now, dry_run=dry_run)
    except DatabaseError as error:
        if is_transient(error):
            raise
    # Another sync, or staff, wrote one of these rows meanwhile; or a column takes not every value.
    written = Written()
    for resource in resources:
        try:
            written.add(_write([resource], asked_at, now, dry_run=dry_run))
        except DatabaseError as error:
            if is_transient(error):
                raise
            why = f"Page {resource.id} “{resource.name[:60]}” was refused by the database."
            written.refused.append(SkippedPage(resource.id, why))
    return written


def touch_rows(mode: str, numbers: Collection[int], now: dt.datetime) -> None:
    """Note that the service still lists these pages, although nothing else of them is mirrored."""
    rows = PaymentPage.objects.primary().filter(domain=mode, remote_id__in=numbers)
    rows.update(synced_at=now, missing_since=None)


def _write(
    resources: Sequence[PageResource], asked_at: dt.datetime, now: dt.datetime, *, dry_run: bool
) -> Written:
    if not resources:
        return Written()
    plan = _plan(resources, asked_at, now)
    if not dry_run:
        rows = PaymentPage.objects.primary()
        retry_transient(lambda _number: _carry_out(plan, now), using=rows.db)
    return Written(
        added=len(plan.new),
        changed=len(plan.changed),
        unchanged=len(plan.same) + plan.newer,
        drifted=sum(bool(row.drift) for row in plan.changed),
    )


def _carry_out(plan: _Plan, now: dt.datetime) -> None:
    rows = PaymentPage.objects.primary()
    seen = rows.filter(pk__in=plan.same)
    if not (plan.new or plan.changed):
        seen.update(synced_at=now, missing_since=None)
        return
    with transaction.atomic(using=rows.db):
        if plan.freed:
            rows.filter(slug_key__in=plan.freed).update(slug_key=None)
        for row in plan.bound:
            unconfirmed = rows.filter(pk=row.pk, remote_id__isnull=True)
            if not unconfirmed.update(domain=row.domain, remote_id=row.remote_id):
                raise IntegrityError("Another page was bound to this row meanwhile.")
        rows.bulk_create(plan.new)
        rows.bulk_update(plan.changed, _FIELDS)
        seen.update(synced_at=now, missing_since=None)


def _plan(resources: Sequence[PageResource], asked_at: dt.datetime, now: dt.datetime) -> _Plan:
    """Find the row of each page: by its number; else, if not confirmed yet, by slug or token."""
    plan = _Plan()
    rows = _rows_by_number(resources)
    holders = _slug_holders(resources, rows)
    # Of two pages with one slug the later in the list has it: it is what we heard last.
    owners = {_key(resource): resource.id for resource in resources}
    owners |= {key: 0 for key, holder in holders.items() if _is_newer(holder, asked_at)}
    unknown = [resource for resource in resources if resource.id not in rows]
    rows |= _unconfirmed_rows(unknown, holders, owners)
    tokens = _free_tokens([resource for resource in unknown if resource.id not in rows])
    for resource in resources:
        row, fields, key = rows.get(resource.id), mirrored_fields(resource), _key(resource)
        if row is not None and _is_newer(row, asked_at):
            # The list is older than what the mirror shows.
            plan.newer += 1
            continue
        if owners[key] != resource.id:
            fields["slug_key"] = None
        elif key in holders and holders[key] != row:
            plan.freed.append(key)
        if row is None:
            plan.new.append(_apply(PaymentPage(token=tokens[resource.id]), fields, now))
        elif any(getattr(row, name) != value for name, value in fields.items()):
            if row.remote_id is None:
                plan.bound.append(row)
            note_drift(row, fields)
            note_inactive(row, fields)
            plan.changed.append(_apply(row, fields, now))
        else:
            plan.same.append(row.pk)
    return plan


def _rows_by_number(resources: Sequence[PageResource]) -> dict[int, PaymentPage]:
    """Find the rows that have these numbers in these pages' modes."""
    modes = {resource.id: mode_of(resource) for resource in resources}
    found = PaymentPage.objects.primary().filter(
        domain__in=set(modes.values()), remote_id__in=list(modes)
    )
    by_number = {row.remote_id: row for row in found if row.remote_id is not None}
    return {number: row for number, row in by_number.items() if row.domain == modes[number]}


def _slug_holders(
    resources: Sequence[PageResource], rows: Mapping[int, PaymentPage]
) -> dict[str, PaymentPage]:
    """Find, by key, the rows that have the slugs which other pages are to get."""
    sought = {
        _key(resource)
        for resource in resources
        if resource.id not in rows or rows[resource.id].slug_key != _key(resource)
    }
    if not sought:
        return {}
    found = PaymentPage.objects.primary().filter(slug_key__in=sought)
    return {row.slug_key: row for row in found if row.slug_key is not None}


def _unconfirmed_rows(
    resources: Sequence[PageResource],
    holders: Mapping[str, PaymentPage],
    owners: Mapping[str, int],
) -> dict[int, PaymentPage]:
    """Find the rows that were written before these pages were asked for.

    By the slug; or, where the service chose another one, by our token in the page's address.
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
    named = _by_token(resource for resource in resources if resource.id not in found)
    if named:
        rows = PaymentPage.objects.primary().filter(token__in=list(named), remote_id__isnull=True)
        for row in rows.exclude(pk__in=[row.pk for row in found.values()]):
            if row.domain in {"", mode_of(named[row.token])}:
                found[named[row.token].id] = row
    return found


def _free_tokens(resources: Sequence[PageResource]) -> dict[int, uuid.UUID]:
    """Give each new page a callback token: that in its own redirect address, if it is free.

    A page made by this site whose row was lost then keeps its callback.
    """
    tokens = {resource.id: uuid.uuid4() for resource in resources}
    if named := _by_token(resources):
        rows = PaymentPage.objects.primary().filter(token__in=list(named))
        for token in named.keys() - set(rows.values_list("token", flat=True)):
            tokens[named[token].id] = token
    return tokens


def _by_token(resources: Iterable[PageResource]) -> dict[uuid.UUID, PageResource]:
    """Find the pages whose redirect address holds a token; of copies with one token, the oldest."""
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
