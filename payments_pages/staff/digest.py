"""Tell staff what needs attention, once for each state of things.

What has been told is in the one row of `Digest`. A run claims the row, tells, and then writes what
it told. Of two runs at the same moment one tells; the other does nothing. A run that cannot tell,
or that dies before it has written, leaves the old row, and the next run tells again. So a mail may
come twice, if a process dies between the mail and the write; none is lost (our decision: a second
mail does no harm, and a payment that nobody knows is held does).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from django.db import DatabaseError, IntegrityError
from django.db import transaction as db_transaction
from django.db.models import F, Q

from payments_pages.confirmation import refuse_other_site
from payments_pages.db import UtcNow, from_now, retry_transient
from payments_pages.models import Digest, primary_alias
from payments_pages.references import text_key
from payments_pages.staff.attention import (
    KEYS_CAP,
    MANY,
    Attention,
    attention_keys,
    read_attention,
)

__all__ = ["DIGEST_LEASE", "Matter", "Telling", "read_matters", "tell_matters"]

DIGEST_LEASE: Final = 600.0
"""Seconds after which another run may tell, because the one that claimed the row must have died."""

_KEY: Final = 16
"""Letters of a reference's key that are kept: enough to tell a thousand of them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """One kind of thing that needs attention.

    - `name`: the name of its field in `Attention`.
    - `count`: how many there are, at most `KEYS_CAP + 1`; 1 for what is no count.
    - `new`: how many of them have not been told yet.
    """

    name: str
    count: int
    new: int


class Telling(Enum):
    """What a run did."""

    TOLD = auto()
    NOTHING_NEW = auto()
    OTHER_RUN = auto()


def read_matters() -> tuple[list[Matter], Attention]:
    """Return everything that needs attention, all of it as new. Raise as `tell_matters` does."""
    refuse_other_site()
    keys, found = _read()
    return _matters(keys, {}), found


def tell_matters(tell: Callable[[list[Matter], Attention], None]) -> Telling:
    """Call `tell` with all that needs attention, if any of it is new since the last run.

    What has been solved is forgotten, and is new when it comes again. An error of `tell` is raised,
    and the next run calls it again. Raise `OtherSite` if the tables belong to another site, which
    tells of them; and a database's error if not everything could be read.
    """
    refuse_other_site()
    row = _claim()
    if row is None:
        return Telling.OTHER_RUN
    try:
        keys, found = _read()
        matters = _matters(keys, row.told)
        news = any(matter.new for matter in matters)
        if news:
            tell(matters, found)
    except BaseException:
        _release(row)
        raise
    told = {name: sorted(of_kind) for name, of_kind in keys.items()}
    if told != row.told:
        _release(row, told=told, told_at=UtcNow() if news else row.told_at)
    else:
        _release(row)
    return Telling.TOLD if news else Telling.NOTHING_NEW


def _read() -> tuple[dict[str, set[str]], Attention]:
    """Return the short keys of all that needs attention, by kind, and the rest that is wrong.

    A delivery that this process does not make (`pause`) is left out: the process has just begun.
    """
    keys = {name: {key[:_KEY] for key in of_kind} for name, of_kind in attention_keys().items()}
    found = read_attention()
    if found.unread:
        raise DatabaseError("What needs attention could not be read.")
    if found.missing:
        keys["missing"] = {text_key(found.missing)[:_KEY]}
    if found.key_refused_at is not None:
        keys["key_refused_at"] = {""}
    if found.overdue is not None:
        keys["overdue"] = {""}
    return keys, found


def _matters(keys: Mapping[str, set[str]], told: Mapping[str, list[str]]) -> list[Matter]:
    return [
        Matter(
            name=name,
            count=KEYS_CAP + 1 if MANY in of_kind else len(of_kind),
            new=len(of_kind.difference(told.get(name, ()))),
        )
        for name, of_kind in keys.items()
    ]


def _claim() -> Digest | None:
    """Claim the row and return it; None while another run has it."""
    using = primary_alias(Digest)
    rows = Digest.objects.primary().filter(pk=Digest.ONLY)
    free = rows.filter(Q(claimed_until=None) | Q(claimed_until__lte=UtcNow()))

    def claim(_number: int) -> int:
        return free.update(attempts=F("attempts") + 1, claimed_until=from_now(DIGEST_LEASE))

    if not retry_transient(claim, using=using):
        if rows.exists():
            return None
        try:
            with db_transaction.atomic(using=using):
                Digest().save(using=using, force_insert=True)
        except IntegrityError:
            if not rows.exists():
                raise
        if not retry_transient(claim, using=using):
            return None
    return rows.get()


def _release(row: Digest, **changes: object) -> None:
    """End the claim, and write what was told, unless another run has claimed the row since."""
    mine = Digest.objects.primary().filter(pk=row.pk, attempts=row.attempts)
    retry_transient(
        lambda _number: mine.update(claimed_until=None, **changes), using=primary_alias(Digest)
    )
