"""Delete old rows and payers' personal data, without breaking "delivered exactly once".

Never deleted are `Fulfilment` and `Transaction`, whose unique keys make a second delivery
impossible, and the `Verification` of a reference that has a transaction, which answers for a
settled reference without a call. Deleted or blanked are:

- the timeline, on which nothing depends;
- references without a transaction that are no longer asked about; one that comes in again is new;
- payers' personal data, which no decision needs after the delivery;
- saved cards by which nobody has paid for so long.

Rows are processed in batches by primary key, each in a short transaction of its own.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from payments_pages.choices import FulfilmentState, VerificationState
from payments_pages.models import (
    Event,
    Fulfilment,
    SavedCard,
    Transaction,
    Verification,
    primary_alias,
)

__all__ = ["SHORTEST", "forget_old_cards", "forget_payers", "purge_events", "purge_lapsed"]

SHORTEST = dt.timedelta(days=30)
"""Nothing younger is deleted: staff, payers and the service may still need it (our decision)."""

Progress = Callable[[int], None]


def purge_events(older_than: dt.timedelta, *, batch: int, dry_run: bool, progress: Progress) -> int:
    """Delete lines of the timeline that are older; return how many.

    Lines of a payment that is paid but not delivered yet stay: staff will want to read them. The
    table is read in the order of its primary key, up to the first batch that is too young, so no
    index on the time is needed.
    """
    cutoff, count = _cutoff(older_than), 0
    for rows in _in_batches(Event.objects.primary(), ("happened_at", "reference_key"), batch):
        old = [(pk, key) for pk, happened_at, key in rows if happened_at < cutoff]
        if not old:
            break
        kept = _open_keys({key for _pk, key in old})
        gone = [pk for pk, key in old if key not in kept]
        if not dry_run:
            Event.objects.primary().filter(pk__in=gone).delete()
        count += len(gone)
        progress(count)
    return count


def purge_lapsed(older_than: dt.timedelta, *, batch: int, dry_run: bool, progress: Progress) -> int:
    """Delete references without a transaction that are no longer asked about; return how many.

    Only those last named before that age. The service never knew such a reference: an abandoned
    popup, or one that came in while the service was down for days. If it comes in again, it is new;
    its expected payment stays and is compared as before.
    """
    mirrored = Transaction.objects.primary().filter(reference_key=OuterRef("reference_key"))
    lapsed = Verification.objects.primary().filter(
        ~Exists(mirrored), state__in=VerificationState.given_up(), named_at__lt=_cutoff(older_than)
    )
    count = 0
    for rows in _in_batches(lapsed, (), batch):
        # With the conditions again: one of them may have come in again since it was read.
        found = lapsed.filter(pk__in=[pk for (pk,) in rows])
        count += len(rows) if dry_run else found.delete()[0]
        progress(count)
    return count


def forget_payers(
    older_than: dt.timedelta, *, batch: int, dry_run: bool, progress: Progress
) -> int:
    """Blank payers' data in transactions last verified before that age; return in how many.

    Blanked: IP address, e-mail, customer, card, what staff search a payer by, the service's log,
    metadata (with the payer's answers) and unreadable fields. Amount, status, page and times stay. Only if the payment is
    delivered, rejected or was never paid. Verifying it again would bring the data back.
    """
    undone = (
        Fulfilment.objects.primary()
        .filter(transaction=OuterRef("pk"))
        .exclude(state__in=FulfilmentState.final())
    )
    asked = Verification.objects.primary().filter(
        reference_key=OuterRef("reference_key"), state__in=VerificationState.open()
    )
    known = ~(Q(**_BLANK_BUT_METADATA) & Q(metadata__isnull=True))
    done = Transaction.objects.primary().filter(
        ~Exists(undone), ~Exists(asked), known, verified_at__lt=_cutoff(older_than)
    )
    count = 0
    for rows in _in_batches(done, (), batch):
        found = Transaction.objects.primary().filter(
            pk__in=[pk for (pk,) in rows], verified_at__lt=_cutoff(older_than)
        )
        count += len(rows) if dry_run else found.update(**_BLANK)
        progress(count)
    return count


def forget_old_cards(
    older_than: dt.timedelta, *, batch: int, dry_run: bool, progress: Progress
) -> int:
    """Delete saved cards that were last saved before that age; return how many.

    Each payment with a card saves it anew, also one that the merchant has charged, if `SAVE_CARD`
    names its owner.
    """
    old = SavedCard.objects.primary().filter(saved_at__lt=_cutoff(older_than))
    count = 0
    for rows in _in_batches(old, (), batch):
        # With the condition again: somebody may have paid with one of them since it was read.
        found = old.filter(pk__in=[pk for (pk,) in rows])
        count += len(rows) if dry_run else found.delete()[0]
        progress(count)
    return count


_BLANK_BUT_METADATA: dict[str, Any] = {
    "ip_address": "",
    "customer_email": "",
    "customer_name": "",
    "customer_last_name": "",
    "customer_phone_end": "",
    "card_last4": "",
    "customer": {},
    "authorization": {},
    "log": {},
    "unreadable": {},
}
_BLANK = {**_BLANK_BUT_METADATA, "metadata": None}


def _cutoff(older_than: dt.timedelta) -> dt.datetime:
    if older_than < SHORTEST:
        raise ValueError(f"At least {SHORTEST.days} days are kept.")
    return timezone.now() - older_than


def _in_batches(rows: Any, fields: Sequence[str], batch: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield lists of (pk, *fields) in the order of the primary key, one query per `batch` rows."""
    last = 0
    while found := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", *fields)[:batch]):
        yield found
        last = found[-1][0]


def _open_keys(keys: set[str]) -> set[str]:
    """Return the keys of payments that are paid and neither delivered nor rejected."""
    using = primary_alias(Fulfilment)
    undone = Fulfilment.objects.using(using).filter(reference_key__in=keys)
    return set(
        undone.exclude(state__in=FulfilmentState.final()).values_list("reference_key", flat=True)
    )
