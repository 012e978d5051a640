"""Keep what the days that are over came to, so that no view sums up a month.

Sums are kept of days that are over since `KEPT_AFTER`. Whoever writes a payment that old notes it
in the same transaction (`LateChange`), and a day with a note is summed up live until it is kept
anew here. So sums are right whether or not anybody keeps them, and wherever this ends:

- First the version of the day is read, then the notes, then the payments. A note that was seen is
  of a change that is in the sums; one that was not seen stays.
- One transaction then writes the sums, over that version only, and deletes the notes that were
  seen. Of rivals that keep one day, one writes; the others change nothing.
- A payment that was new when it was written, and so was not noted, may not be committed yet: the
  handler hangs. Before the sums are read, `end_old_claims` has said that there is none.
- Kept days overlap if `TIME_ZONE` was changed between. A note would be seen by one of them only,
  so the others are deleted, and who is about to write one finds no row.
"""

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from django.db import DatabaseError, IntegrityError, InterfaceError
from django.db import transaction as db_transaction
from django.db.models import Exists, OuterRef, QuerySet

from payments_pages.choices import Mode
from payments_pages.confirmation import end_old_claims
from payments_pages.db import from_now, is_transient, retry_transient
from payments_pages.models import KeptDay, LateChange, Transaction, primary_alias
from payments_pages.money import fold_currency
from payments_pages.staff.totals import day_bounds, in_utc, sum_days

__all__ = ["KEPT_AFTER", "Difference", "compare_days", "keep_days", "keep_some_days"]

logger = logging.getLogger("payments_pages.totals")

KEPT_AFTER: Final = dt.timedelta(days=1)
"""How long a day must be over, by the database's clock. Until then late payments are usual."""
SOME: Final = 10
"""Days that one sweep keeps at most: each is one sum over an index."""
NOTES_AT_ONCE: Final = 1000
"""Notes that one transaction deletes at most; with more of them the day is kept several times."""
FORGOTTEN_AFTER: Final = dt.timedelta(days=2)
"""How long a day is kept after it left the totals: the day of another time zone may end later."""

_NOTHING: Final = (0, 0, 0)

Bounds = tuple[str, dt.datetime, dt.datetime]
"""A mode, and where a day of it begins and ends."""


def keep_days(
    *,
    most: int | None = None,
    rebuild: bool = False,
    progress: Callable[[int], None] = lambda count: None,
) -> int:
    """Sum up the days of the totals that are not kept or have changed; return how many are now.

    At most `most` of them, the newest first. With `rebuild` those that stand are summed up anew,
    too. A day that cannot be summed up is logged and left out: SQLite has no sum above 64 bits.
    Must not run inside a transaction.
    """
    wanted = _days()
    if not rebuild:
        standing = _standing()
        wanted = [bounds for bounds in wanted if bounds not in standing]
    count = 0
    for bounds in wanted:
        if count == most:
            break
        if _keep_if_possible(*bounds):
            count += 1
            progress(count)
    if wanted:
        _forget_old_days()
    return count


def keep_some_days() -> None:
    """Keep a few days at the end of a sweep; log an error of the database and never raise it."""
    try:
        keep_days(most=SOME)
    except (DatabaseError, InterfaceError) as error:
        _log(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A currency of a kept day whose sums are not those of its payments.

    `kept` and `found` are count, amount and how many amounts cannot be read.
    """

    mode: str
    since: dt.datetime
    code: str
    kept: tuple[int, int, int]
    found: tuple[int, int, int]


def compare_days(*, progress: Callable[[int], None] = lambda count: None) -> list[Difference]:
    """Sum up every kept day that stands, and return where its sums are other ones.

    A day that is changed or kept anew while it is compared is left out.
    """
    differences = []
    for count, row in enumerate(list(KeptDay.objects.primary().standing().order_by("pk")), 1):
        kept = _by_code(row.sums)
        found = _by_code(_sums(row.domain, row.since, row.until))
        same = KeptDay.objects.primary().standing().filter(pk=row.pk, version=row.version)
        if kept != found and same.exists():
            differences += [
                Difference(
                    mode=row.domain,
                    since=row.since,
                    code=code,
                    kept=kept.get(code, _NOTHING),
                    found=found.get(code, _NOTHING),
                )
                for code in sorted({*kept, *found})
                if kept.get(code) != found.get(code)
            ]
        progress(count)
    return differences


def _days() -> list[Bounds]:
    """Return the days of the totals that may be kept, of both modes, the newest first."""
    # Without yesterday and today. Whether the others are over is asked of the database, too.
    pairs = list(pairwise(in_utc(day_bounds())))[:-2]
    return [(mode, since, until) for since, until in reversed(pairs) for mode in Mode.values]


def _standing() -> set[Bounds]:
    rows = KeptDay.objects.primary().standing().filter(since__gte=day_bounds()[0])
    return set(rows.values_list("domain", "since", "until"))


def _keep_if_possible(*bounds: Any) -> bool:
    try:
        return _keep(*bounds)
    except DatabaseError as error:
        if is_transient(error):
            raise
        _log(error)
        return False


def _log(error: Exception) -> None:
    kind = type(error).__name__
    logger.warning("totals.not_kept: %s", kind, extra={"error": kind})


def _keep(mode: str, since: dt.datetime, until: dt.datetime) -> bool:
    """Sum up one day and keep it; return False if it is too early, or a rival was first."""
    using = primary_alias(KeptDay)
    # After a brief error from the beginning: if the sums were written, the version has changed.
    return retry_transient(lambda _number: _keep_once(mode, since, until), using=using)


def _keep_once(mode: str, since: dt.datetime, until: dt.datetime) -> bool:
    found = _open_day(mode, since, until)
    if found is None or not end_old_claims(until + KEPT_AFTER):
        return False
    pk, version = found
    notes = LateChange.objects.primary().filter(domain=mode, paid_at__gte=since, paid_at__lt=until)
    seen = list(notes.order_by("pk").values_list("pk", flat=True)[:NOTES_AT_ONCE])
    others = KeptDay.objects.primary().filter(domain=mode, since__lt=until, until__gt=since)
    overlapping = list(others.exclude(pk=pk).values_list("pk", flat=True))
    sums = _sums(mode, since, until)
    with db_transaction.atomic(using=primary_alias(KeptDay), durable=True):
        same = KeptDay.objects.primary().filter(pk=pk, version=version)
        if not same.update(version=version + 1, sums=sums):
            return False
        _delete_each(KeptDay.objects.primary(), overlapping)
        _delete_each(LateChange.objects.primary(), seen)
    return True


def _open_day(mode: str, since: dt.datetime, until: dt.datetime) -> tuple[int, int] | None:
    """Return the key and the version of a day's row, which is made if it is missing.

    None if the day is not over for long enough, by the database's clock.
    """
    rows = KeptDay.objects.primary().filter(domain=mode, since=since, until=until)
    if not rows.exists():
        row = KeptDay(domain=mode, since=since, until=until)
        using = primary_alias(KeptDay)
        try:
            with db_transaction.atomic(using=using):
                row.save(using=using, force_insert=True)
        except IntegrityError:
            if not rows.exists():
                raise
    over = rows.filter(until__lte=from_now(-KEPT_AFTER.total_seconds()))
    return over.values_list("pk", "version").first()


def _sums(mode: str, since: dt.datetime, until: dt.datetime) -> dict[str, dict[str, Any]]:
    found = sum_days(Transaction.objects.primary(), mode, (since, until), (0,))
    return {
        one.currency: {
            "count": one.count,
            "amount": str(one.amount),
            "unreadable": one.unreadable,
        }
        for one in found
    }


def _by_code(sums: dict[str, dict[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """Add up the spellings of each currency, of which MariaDB names one or another."""
    found: dict[str, tuple[int, int, int]] = {}
    for currency, one in sums.items():
        code = fold_currency(currency)
        count, amount, unreadable = found.get(code, _NOTHING)
        found[code] = (
            count + one["count"],
            amount + int(one["amount"]),
            unreadable + one["unreadable"],
        )
    return found


def _delete_each(rows: "QuerySet[Any]", keys: list[int]) -> None:
    """Delete rows by one key at a time.

    For a list of keys MariaDB may read the table, and wait for each row in it that somebody else
    has just inserted.
    """
    for key in keys:
        rows.filter(pk=key).delete()


def _forget_old_days() -> None:
    """Delete days that left the totals, and the old notes of days that are not kept."""
    oldest = day_bounds()[0] - FORGOTTEN_AFTER
    gone = KeptDay.objects.primary().filter(until__lte=oldest)
    _delete_each(KeptDay.objects.primary(), list(gone.values_list("pk", flat=True)))
    # Whoever makes such a day's row after this look sums up what these notes are about.
    keeping = KeptDay.objects.filter(
        domain=OuterRef("domain"), since__lte=OuterRef("paid_at"), until__gt=OuterRef("paid_at")
    )
    idle = LateChange.objects.primary().filter(~Exists(keeping), paid_at__lt=oldest)
    _delete_each(
        LateChange.objects.primary(), list(idle.values_list("pk", flat=True)[:NOTES_AT_ONCE])
    )
