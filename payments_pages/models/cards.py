"""Cards that may be charged again, as far as their owners have agreed to it."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import models, router
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from payments_pages.encryption import decrypt_code
from payments_pages.models.querysets import primary_alias
from payments_pages.models.transactions import Transaction

__all__ = ["SavedCard", "read_owners"]

ENCRYPTED_LENGTH = 320
"""Characters of an encrypted code: those of a code of `CODE_LENGTH`, and some to spare."""


def read_owners(keys: Iterable[str]) -> dict[str, Any]:
    """Return the users with these primary keys, as text, by one query; those who are gone are left out."""
    users = get_user_model()
    pks = set()
    for key in keys:
        try:
            pks.add(users._meta.pk.to_python(key))  # noqa: SLF001 - Django documents it
        except ValidationError:
            continue  # of a user model that the site had before
    rows = users._base_manager.using(router.db_for_read(users))  # noqa: SLF001 - Django documents it
    found = rows.in_bulk(pks)
    return {str(user.pk): user for user in found.values()}


class SavedCardManager(models.Manager["SavedCard"]):
    """Saved cards: `of(user)` finds those of one user.

    Written as a manager, and not made of a queryset by `as_manager()`: a type checker without the
    plugin of django-stubs knows only the methods that a class has (docs/cases.md F10).
    """

    def primary(self) -> "models.QuerySet[SavedCard]":
        """Return the rows on the primary database: a replica may not have them yet."""
        return self.using(primary_alias(self.model))

    def of(self, user: Any) -> "models.QuerySet[SavedCard]":
        """Return the cards of a user, in both modes; none of somebody who is not signed in."""
        cards = self.primary()
        return cards.none() if user.pk is None else cards.filter(owner_key=str(user.pk))


class SavedCard(models.Model):
    """One card of one owner, in one mode, with the code by which the merchant can charge it.

    - `owner_key` is the user's primary key as text. It is no foreign key: a site may have no users,
      or keep them in another database. The app deletes the cards of a user who is deleted
      (`staff.forget_with_owner`).
    - `card_key` is made of the mode and the card's `signature` at the service. One owner has it
      once; two owners may have the same card.
    - `encrypted_code` is encrypted by a key of `CARD_KEYS`. Only `authorization_code()` reads it.
    - `paid_at` is that of the payment that the code came with: an older code never replaces it.
    """

    owner_key = models.CharField(max_length=255, editable=False)
    card_key = models.CharField(max_length=64, editable=False)
    domain = models.CharField(_("mode"), max_length=16)
    encrypted_code = models.CharField(max_length=ENCRYPTED_LENGTH, editable=False)
    brand = models.CharField(_("brand"), max_length=64, blank=True)
    last4 = models.CharField(_("last four digits"), max_length=4, blank=True)
    exp_month = models.CharField(_("month of expiry"), max_length=2, blank=True)
    exp_year = models.CharField(_("year of expiry"), max_length=4, blank=True)
    first_payment = models.ForeignKey(
        Transaction, verbose_name=_("first payment"), on_delete=models.PROTECT, related_name="+"
    )
    paid_at = models.DateTimeField(_("last paid with"), null=True)
    created_at = models.DateTimeField(_("saved at"), auto_now_add=True)
    saved_at = models.DateTimeField(_("last saved at"))

    objects = SavedCardManager()

    class Meta:
        verbose_name = _("saved card")
        verbose_name_plural = _("saved cards")
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["owner_key", "card_key"], name="pp_saved_card_owner")
        ]
        indexes = [
            models.Index(fields=["domain", "id"], name="pp_saved_card_mode"),
            models.Index(fields=["saved_at", "id"], name="pp_saved_card_saved"),
        ]
        permissions = [("forget_savedcard", _("Can forget saved cards"))]

    def __str__(self) -> str:
        return f"{self.brand} •••• {self.last4}".strip()

    @cached_property
    def owner(self) -> Any:
        """Return the user whose card it is, read from where users are kept; None if there is none."""
        return read_owners([self.owner_key]).get(self.owner_key)

    @property
    def expiry(self) -> str:
        """The month and year of expiry, such as `12/2035`; `""` if the service did not say both."""
        return f"{self.exp_month}/{self.exp_year}" if self.exp_month and self.exp_year else ""

    def authorization_code(self) -> str:
        """Return the code by which the card can be charged.

        Give it to the service alone: not to a log, a template, a queue or an error. Raise
        `UnusableCardKeys` if no key of `CARD_KEYS` reads it.
        """
        return decrypt_code(self.encrypted_code)
