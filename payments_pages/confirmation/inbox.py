"""Find and insert the references that were named, and record who named them.

If a trusted caller (staff, the merchant's own code or a signed message) names a reference, the
service must be asked after that moment. So the row says when it was last named, and which attempt
had begun by then: the answer to that attempt, or to an older one, is not new enough.
"""

from uuid import UUID

from django.db import IntegrityError, connections, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce

from payments_pages.choices import Door, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import schedule
from payments_pages.confirmation.attribution import replaceable_hints
from payments_pages.confirmation.statements import VERIFICATION_BY_KEY
from payments_pages.db import UtcNow, change_unless_held, retry_transient
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
    "find",
    "first_signed_success",
    "is_known",
    "name_again",
    "page_hint_of",
    "refuse_another",
    "remember",
    "set_page_hint",
]


def find(key: str) -> Verification | None:
    """Return the row of a reference key from the primary database, or None."""
    return VERIFICATION_BY_KEY.first(primary_alias(Verification), key=key)


def is_known(reference: str) -> bool:
    """Say whether this site has a row of exactly this reference.

    Return False for a text that cannot be a reference.
    """
    try:
        row = find(reference_key(check_reference(reference)))
    except InvalidReference:
        return False
    return row is not None and row.reference == reference


def refuse_another(row: Verification, reference: str) -> None:
    """Raise `InvalidReference` unless the row has exactly this reference, byte for byte.

    A collation of the database may take two references for equal.
    """
    if row.reference != reference:
        raise InvalidReference("Another reference is stored under this key.")


def remember(
    reference: str,
    key: str,
    *,
    door: Door,
    page_hint: UUID | None = None,
    vouched: bool = True,
) -> None:
    """Insert a row that is due in seconds. If there is one, and `vouched` is true, name it again.

    A row that another transaction has locked stays as it is: its answer is being recorded.

    May be called inside a transaction of the caller. Raise `IntegrityError` if the row cannot be
    inserted for another reason than that a rival has inserted it.
    """
    row = find(key)
    if row is not None:
        if vouched:
            name_again(row, says_paid=True)
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
        said_paid=True,
        page_claim=page_hint,
    )
    try:
        with transaction.atomic(using=using):  # a savepoint: the caller's transaction goes on
            row.save(using=using, force_insert=True)
    except IntegrityError:
        if find(key) is None and not _is_committed(key):
            raise


def _is_committed(key: str) -> bool:
    """Say whether the row is committed: the snapshot of the caller's transaction may hide it."""
    rows = Verification.objects.filter(reference_key=key)
    beside = connections[primary_alias(Verification)].copy()
    try:
        return bool(rows.query.get_compiler(connection=beside).has_results())
    finally:
        beside.close()


def name_again(
    row: Verification,
    *,
    signed_success: bool = False,
    says_paid: bool = False,
    refresh: bool = False,
) -> int | None:
    """Record that a trusted caller has named the reference; return the attempt that had begun.

    The answer to that attempt, or to an older one, is not new enough for this caller. That rivals
    name the reference later changes nothing for it.

    Return None, and record nothing, if another transaction has locked the row: it records an
    answer, or its handler is running, and nobody waits for it.

    - The service is asked after this moment: in seconds, or as soon as the attempt under way ends.
    - A reference that was given up is asked about again.
    - `signed_success`: a signed message says that it is paid. Until the service confirms this, the
      reference is never given up.
    - `says_paid`: the caller believes it to be paid (`Verification.said_paid`).
    - `refresh`: ask about a settled reference, too.
    """
    ended = [VerificationState.UNKNOWN, *VerificationState.given_up()]
    if refresh:
        ended.append(VerificationState.SETTLED)
    changes = {
        # The time comes before the state: in MariaDB and MySQL, a later expression of an UPDATE
        # reads the new value of a column.
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
    if says_paid:
        changes["said_paid"] = True
    rows = Verification.objects.primary()
    if change_unless_held(rows, row.pk, **changes) is None:
        return None
    row.vouched = True
    # A rival may have claimed the next attempt since: then its answer is waited for, too.
    return rows.filter(pk=row.pk).values_list("named_attempt", flat=True).first() or 0


def first_signed_success() -> Coalesce:
    """Return the time of the first signed success, as an expression; now if this is the first."""
    return Coalesce(F("signed_success_at"), UtcNow())


def set_page_hint(row: Verification, token: UUID | None, paid: Transaction | None = None) -> bool:
    """Store the token of the page by whose callback the payer came back, as the page hint.

    Return False, and store nothing, if another transaction has locked the row (see `name_again`).

    The first page hint stays (our decision), unless no page has its token, or the payment `paid` is
    enough for the new page and not for the stored one.
    """
    if token is None or row.page_claim == token:
        return True
    replaceable = replaceable_hints(row.page_claim, token, paid)
    has_page = Exists(PaymentPage.objects.primary().filter(token=OuterRef("page_claim")))
    free = Q(page_claim__isnull=True) | ~has_page | Q(page_claim__in=replaceable)
    changed = change_unless_held(
        Verification.objects.primary().filter(free), row.pk, page_claim=token
    )
    if changed:
        row.page_claim = token
    return changed is not None


def page_hint_of(pk: int) -> UUID | None:
    """Return the page hint stored by now: the payer may have come back while we asked."""
    row = Verification.objects.primary().filter(pk=pk).values_list("page_claim", flat=True)
    return row.first()


def change(rows: VerificationQuerySet, **changes: object) -> int:
    """Change rows by one statement, and retry it if a rival's change makes the database refuse it.

    Return the number of rows.
    """
    return retry_transient(
        lambda _number: rows.update(**changes), using=primary_alias(Verification)
    )
