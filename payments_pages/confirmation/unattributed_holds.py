"""Holds of which nothing says what they pay for: decided again when pages change, told to staff late.

A webhook may be quicker than the payer, and only the payer's return says what was paid for. So
`fulfilment_held` is sent for such a hold when the payer has not come back for some time
(docs/cases.md S14). And a payment may be made before its page is mirrored here: such a hold is
decided again when a page was added or changed (docs/cases.md D38).
"""

from django.db.models import Q

from payments_pages.choices import Attributed
from payments_pages.conf import conf
from payments_pages.confirmation.attribution import attribute
from payments_pages.confirmation.due import open_fulfilments, open_verifications
from payments_pages.confirmation.evidence import evidence_of
from payments_pages.db import UtcNow, retry_transient
from payments_pages.models import Fulfilment, FulfilmentQuerySet, primary_alias
from payments_pages.signals import fulfilment_held

__all__ = ["conclude", "is_attributable", "to_decide_again"]


def to_decide_again() -> FulfilmentQuerySet:
    """Return the unattributed holds that a sweep must look at."""
    return open_fulfilments().unattributed().filter(Q(decide_again=True) | _is_late())


def is_attributable(pk: int) -> bool:
    """Say whether something now says what a hold pays for. The service is not asked."""
    row = Fulfilment.objects.primary().select_related("transaction").get(pk=pk)
    hints = open_verifications().filter(reference_key=row.reference_key)
    hint = hints.values_list("page_claim", flat=True).first()
    evidence = evidence_of(row.transaction, row.reference_key, hint)
    return attribute(evidence, conf.attribution).by is not Attributed.NONE


def conclude(pk: int) -> None:
    """End the look at a hold that is still unattributed, and tell staff if its grace is over.

    The UPDATE lets one of several sweeps send the signal.
    """
    rows = Fulfilment.objects.primary().unattributed().filter(pk=pk)
    using = primary_alias(Fulfilment)
    retry_transient(lambda _number: rows.update(decide_again=False), using=using)
    ended = retry_transient(
        lambda _number: rows.filter(_is_late()).update(next_at=None), using=using
    )
    # None: its payer has come back since, and it is no longer held for that.
    fulfilment = rows.select_related("transaction").first() if ended else None
    if fulfilment is not None:
        fulfilment_held.send_robust(sender=Fulfilment, fulfilment=fulfilment)


def _is_late() -> Q:
    return Q(next_at__lte=UtcNow())
