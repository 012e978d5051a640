"""Keep the references that were named: find them, insert them, write down what is said of them.

What somebody trusted says later outweighs what we asked earlier. So a row holds when it was last
named and which ask had begun by then: an ask with that number, or an older one, does not answer
what was said.
"""

from uuid import UUID

from django.db import IntegrityError, connections, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce

from payments_pages.choices import GIVEN_UP, Door, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import schedule
from payments_pages.confirmation.attribution import giving_way
from payments_pages.confirmation.statements import VERIFICATION_BY_KEY
from payments_pages.db import UtcNow, retry_transient
from payments_pages.exceptions import InvalidReference
from payments_pages.models import (
    PaymentPage,
    Transaction,
    Verification,
    VerificationQuerySet,
    primary_alias,
)
from payments_pages.references import check_reference, reference_key

__all__ = [
    "change",
    "claim_page",
    "claimed_page",
    "find",
    "first_signed_success",
    "is_known",
    "name_again",
    "refuse_another",
    "remember",
]


def find(key: str) -> Verification | None:
    """Return the row of a reference key from the primary database."""
    return VERIFICATION_BY_KEY.first(primary_alias(Verification), key=key)


def is_known(reference: str) -> bool:
    """Say whether this site has a row of exactly this reference; False for what cannot be one."""
    try:
        row = find(reference_key(check_reference(reference)))
    except InvalidReference:
        return False
    return row is not None and row.reference == reference


def refuse_another(row: Verification, reference: str) -> None:
    """Make sure that the row is this reference's, byte for byte, and not a collation's idea of it.

    Raise `InvalidReference` if it is not.
    """
    if row.reference != reference:
        raise InvalidReference("Another reference is stored under this key.")


def remember(
    reference: str,
    key: str,
    *,
    door: Door,
    page_claim: UUID | None = None,
    vouched: bool = True,
) -> None:
    """Insert a row that is due soon; a row that exists is named again if `vouched`.

    May be part of a caller's transaction.
    """
    row = find(key)
    if row is not None:
        if vouched:
            name_again(row)
        return
    using = primary_alias(Verification)
    row = Verification(
        reference=reference,
        reference_key=key,
        mode=conf.mode,
        state=VerificationState.DUE,
        next_at=schedule.soon(),
        named_at=UtcNow(),
        first_door=door,
        vouched=vouched,
        page_claim=page_claim,
    )
    try:
        with transaction.atomic(using=using):  # a savepoint: a rival's row must not spoil theirs
            row.save(using=using, force_insert=True)
    except IntegrityError:
        if find(key) is None and not _is_committed(key):
            raise


def _is_committed(key: str) -> bool:
    """Look for a row outside the caller's transaction, whose snapshot may hide it."""
    rows = Verification.objects.filter(reference_key=key)
    beside = connections[primary_alias(Verification)].copy()
    try:
        return bool(rows.query.get_compiler(connection=beside).has_results())
    finally:
        beside.close()


def name_again(row: Verification, *, signed_success: bool = False, refresh: bool = False) -> None:
    """Write down that somebody trusted has named the reference, in one statement.

    The service is asked again after this moment: in seconds, or as soon as the ask that is under
    way has ended. What was given up is taken up again. `signed_success`: a signed message says
    that it is paid; until the service confirms that, the reference is never given up. `refresh`:
    something about a settled reference has changed, so that it is asked about too.
    """
    ended = [VerificationState.UNKNOWN, *GIVEN_UP]
    if refresh:
        ended.append(VerificationState.SETTLED)
    changes = {
        # The time before the state: MariaDB and MySQL read a column as already changed.
        "next_at": Case(
            When(state__in=[*ended, VerificationState.DUE], then=schedule.soon()),
            default=F("next_at"),
        ),
        "state": Case(When(state__in=ended, then=Value(VerificationState.DUE)), default=F("state")),
        "named_at": UtcNow(),
        "named_attempt": F("attempts"),
        "vouched": True,
    }
    if refresh:
        changes["refresh_attempt"] = F("attempts")
    if signed_success:
        changes["signed_success_at"] = first_signed_success()
    change(Verification.objects.primary().filter(pk=row.pk), **changes)
    row.vouched = True


def first_signed_success() -> Coalesce:
    """Return the moment of the first signed success; now, if this is the first."""
    return Coalesce(F("signed_success_at"), UtcNow())


def claim_page(row: Verification, token: UUID | None, paid: Transaction | None = None) -> None:
    """Note the page a payer came back by; the first claim to a page that fits stays (our decision).

    A token that no page has is no claim, and one that `paid` is not enough for gives way.
    """
    if token is None or row.page_claim == token:
        return
    worse = giving_way(row.page_claim, token, paid)
    named = Exists(PaymentPage.objects.primary().filter(token=OuterRef("page_claim")))
    free = Q(page_claim__isnull=True) | ~named | Q(page_claim__in=worse)
    if change(Verification.objects.primary().filter(free, pk=row.pk), page_claim=token):
        row.page_claim = token


def claimed_page(pk: int) -> UUID | None:
    """Return the page claimed by now: the payer may have come back while we asked."""
    row = Verification.objects.primary().filter(pk=pk).values_list("page_claim", flat=True)
    return row.first()


def change(rows: VerificationQuerySet, **changes: object) -> int:
    """Change rows by one statement; where the server makes each a snapshot, a rival may undo it."""
    return retry_transient(
        lambda _number: rows.update(**changes), using=primary_alias(Verification)
    )
