"""Forget saved cards, and encrypt their codes by the newest key.

To forget a card is to delete its row. Nothing is said to the service: its interface has no call for
it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from payments_pages.encryption import check_card_keys, encrypt_with_newest
from payments_pages.exceptions import UnusableCardKeys
from payments_pages.models import SavedCard

__all__ = ["Rekeyed", "forget_card", "forget_cards", "forget_with_owner", "rekey_cards"]


def forget_cards(user: Any) -> int:
    """Delete all saved cards of a user, in both modes; return how many."""
    return SavedCard.objects.of(user).delete()[0]


def forget_card(card: SavedCard) -> bool:
    """Delete one saved card; return False if it was gone already."""
    return bool(SavedCard.objects.primary().filter(pk=card.pk).delete()[0])


def forget_with_owner(instance: Any, **_named: Any) -> None:
    """Delete the cards of a user who is deleted: a receiver of `post_delete`.

    It is called in the transaction that deletes the user.
    """
    forget_cards(instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rekeyed:
    """The result of `rekey_cards`.

    - `changed`: cards whose code is now encrypted by the newest key, and was not before.
    - `unreadable`: primary keys of cards whose code no key of `CARD_KEYS` reads.
    """

    changed: int
    unreadable: tuple[int, ...]


def rekey_cards(*, batch: int = 500, progress: Callable[[int], None]) -> Rekeyed:
    """Encrypt the codes of all saved cards by the newest key of `CARD_KEYS`.

    May be stopped at any time and run again, also while payments save cards: each card is changed
    by one statement, and not if a newer code was saved since it was read. A card of another process
    that still has other keys is found by the next run. `progress` gets the number of cards that
    were looked at. Raise `UnusableCardKeys` if the keys are missing or malformed.
    """
    check_card_keys()
    cards = SavedCard.objects.primary()
    looked_at = changed = last = 0
    unreadable: list[int] = []
    while rows := list(
        cards.filter(pk__gt=last).order_by("pk").values_list("pk", "encrypted_code")[:batch]
    ):
        for pk, encrypted in rows:
            try:
                newest = encrypt_with_newest(encrypted)
            except UnusableCardKeys:
                unreadable.append(pk)
                continue
            if newest is not None:
                # The text that was read is the condition: a payment may have replaced it.
                same = cards.filter(pk=pk, encrypted_code=encrypted)
                changed += same.update(encrypted_code=newest)
        last = rows[-1][0]
        looked_at += len(rows)
        progress(looked_at)
    return Rekeyed(changed=changed, unreadable=tuple(unreadable))
