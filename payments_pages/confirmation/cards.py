"""Save the card of a payment, if the merchant says whose it is (setting `SAVE_CARD`).

The card is saved in the transaction that records the first success of the payment, or not at all.
It is the last step of that transaction, after a handler that runs in it: so rivals with the same
card wait for a commit and never for a handler.

No payment is harmed by its card. What the merchant's function raises, and whatever else goes wrong,
is rolled back to a savepoint and logged. Only an error that has ended the whole transaction is
raised: then the answer is recorded again, with its card.
"""

import inspect
import logging
from typing import Any

from django.contrib.auth import get_user_model
from django.db import IntegrityError, connections, router
from django.db import transaction as db_transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from payments_pages.card_codes import CardCode
from payments_pages.choices import Door
from payments_pages.client import brand_of, expiry_of
from payments_pages.conf import conf, load_function
from payments_pages.db import HeldRowError, refuse_held_row
from payments_pages.encryption import encrypt_code
from payments_pages.exceptions import UnusableCardKeys
from payments_pages.models import SavedCard, Transaction, primary_alias
from payments_pages.redaction import place_of
from payments_pages.references import text_key

__all__ = ["save_card"]

logger = logging.getLogger("payments_pages.cards")


def save_card(transaction: Transaction, code: CardCode | None, *, before: str, door: Door) -> None:
    """Save the card of a payment that is now recorded as a success of our mode, once per owner.

    `before` is the status that was mirrored before. A payment that was a success already is not
    looked at again: a card that its owner has had forgotten must not come back with an old answer.
    """
    if code is None or not conf.save_card or before in {"success", "reversed"}:
        return
    if transaction.status != "success":
        return
    using = primary_alias(SavedCard)
    try:
        with db_transaction.atomic(using=using):
            _save(transaction, code, using)
    except Exception as error:
        if connections[using].needs_rollback:
            raise
        logger.error(  # noqa: TRY400 - a traceback may quote the payer
            "card.not_saved: %s: %s",
            transaction.reference,
            _told(error),
            extra={
                "reference": transaction.reference,
                "door": str(door),
                "error": _told(error),
            },
        )


class _Unusable(Exception):
    """Something by which no card can be saved; the message says what."""


def _told(error: Exception) -> str:
    """Return the text of an error that is ours, and the place of any other: it may quote a payer."""
    is_ours = isinstance(error, _Unusable | UnusableCardKeys)
    return str(error) if is_ours else place_of(error)


def _owner_of(transaction: Transaction) -> Any:
    """Ask the merchant's function; None if the card is not to be saved."""
    owner = load_function("SAVE_CARD", conf.save_card)(transaction)
    if owner is None:
        return None
    if inspect.iscoroutine(owner):
        owner.close()  # Python would warn that it was never awaited.
    if not isinstance(owner, get_user_model()):
        raise _Unusable(f"SAVE_CARD returned a {type(owner).__name__}, and not a user or None.")
    if owner.pk is None:
        raise _Unusable("SAVE_CARD returned a user who is not in the database.")
    return owner


def _save(transaction: Transaction, code: CardCode, using: str) -> None:
    if transaction.domain != conf.mode:
        return
    owner = _owner_of(transaction)
    if owner is None:
        return
    signature = transaction.authorization.get("signature")
    if not isinstance(signature, str) or not signature.strip():
        raise _Unusable("The service did not say which card it is.")
    key = text_key(transaction.domain, signature)
    newest = _newest_fields(transaction, code)
    cards = SavedCard.objects.of(owner).filter(card_key=key)
    # A plain read: on MariaDB and MySQL an UPDATE that finds nothing locks the gap, and rivals that
    # insert into it lock each other out.
    known = cards.values_list("pk", flat=True).first()
    if known is not None:
        _replace(cards.filter(pk=known), transaction, newest)
        return
    _keep_owner(owner, using)
    card = SavedCard(
        owner_key=str(owner.pk),
        card_key=key,
        domain=transaction.domain,
        first_payment=transaction,
        **newest,
    )
    try:
        with db_transaction.atomic(using=using):
            card.save(using=using, force_insert=True)
    except IntegrityError:
        # A rival has saved the same card at the same moment. Its code is as new as this one.
        if not cards.exists():
            raise


def _newest_fields(transaction: Transaction, code: CardCode) -> dict[str, Any]:
    """Return what the newest payment with a card says of it."""
    card = transaction.authorization
    month, year = expiry_of(card)
    return {
        "encrypted_code": encrypt_code(code),
        "brand": brand_of(card)[:64],
        "last4": transaction.card_last4,
        "exp_month": month,
        "exp_year": year,
        "paid_at": transaction.paid_at,
        "saved_at": timezone.now(),
    }


def _replace(card: QuerySet[SavedCard], transaction: Transaction, newest: dict[str, Any]) -> None:
    """Replace code and expiry; not if the code that is there came with a later payment."""
    if transaction.paid_at is not None:
        card = card.filter(Q(paid_at=None) | Q(paid_at__lte=transaction.paid_at))
    card.update(**newest)


def _keep_owner(owner: Any, using: str) -> None:
    """Keep the owner from being deleted until the commit: the card would be nobody's.

    Nobody waits for a row that somebody else has locked: then the card is not saved. Only another
    payment of the same owner, which is about to commit, is worth a few looks.
    """
    users = get_user_model()._base_manager  # noqa: SLF001 - Django documents it
    if router.db_for_write(users.model) != using:
        return
    try:
        refuse_held_row(users.using(using), owner.pk, patient=True)
    except HeldRowError:
        raise _Unusable("The owner is gone, or another transaction has locked the row.") from None
