"""The payer on the page of one payment: who it is and what was answered, or masks of that."""

from typing import Final
from urllib.parse import quote

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.formats import ltr
from payments_pages.client import card_of, full_name, phone_of
from payments_pages.models import Transaction
from payments_pages.staff import mask_email, mask_name, mask_phone, mask_whole

__all__ = ["PayerAdminMixin", "payer_of"]

_NONE: Final = "–"


class PayerAdminMixin:
    """The rows of the section *Payer*, each of them once whole and once masked.

    A fieldset names one or the other, by what its reader may see.
    """

    fields_of_payer = (
        "payer_name", "payer_email", "payer_phone", "payer_card", "ip_address", "payer_answers",
    )  # fmt: skip
    masked_fields_of_payer = (
        "masked_name", "masked_email", "masked_phone", "masked_card", "masked_answers",
    )  # fmt: skip

    @admin.display(description=gettext_lazy("e-mail"))
    def payer_email(self, transaction: Transaction) -> SafeString | str:
        return _mail_to(transaction)

    @admin.display(description=gettext_lazy("name"))
    def payer_name(self, transaction: Transaction) -> SafeString | str:
        return _own(full_name(transaction.customer))

    @admin.display(description=gettext_lazy("phone"))
    def payer_phone(self, transaction: Transaction) -> SafeString | str:
        return ltr(phone_of(transaction.customer)) or _NONE

    @admin.display(description=gettext_lazy("card"))
    def payer_card(self, transaction: Transaction) -> SafeString | str:
        return ltr(card_of(transaction.authorization)) or _NONE

    @admin.display(description=gettext_lazy("answers"))
    def payer_answers(self, transaction: Transaction) -> SafeString | str:
        """Show the answers to the page's questions as a table."""
        answers = transaction.answers
        if not answers:
            return _NONE
        rows = format_html_join(
            "",
            '<tr><td dir="auto">{}</td><td dir="auto" class="pp-detail">{}</td></tr>',
            ((label, answer or _NONE) for label, answer in answers.items()),
        )
        return format_html(
            '<table class="pp-table"><thead><tr><th scope="col">{}</th><th scope="col">{}</th></tr>'
            "</thead><tbody>{}</tbody></table>",
            _("Question"),
            _("Answer"),
            rows,
        )

    @admin.display(description=gettext_lazy("e-mail"))
    def masked_email(self, transaction: Transaction) -> SafeString | str:
        return ltr(mask_email(transaction.customer_email)) or _NONE

    @admin.display(description=gettext_lazy("name"))
    def masked_name(self, transaction: Transaction) -> SafeString | str:
        return _own(mask_name(full_name(transaction.customer)))

    @admin.display(description=gettext_lazy("phone"))
    def masked_phone(self, transaction: Transaction) -> SafeString | str:
        return ltr(mask_phone(phone_of(transaction.customer))) or _NONE

    @admin.display(description=gettext_lazy("card"))
    def masked_card(self, transaction: Transaction) -> str:
        return mask_whole(card_of(transaction.authorization)) or _NONE

    @admin.display(description=gettext_lazy("answers"))
    # Hidden with their labels: a payer's browser may have written those, too.
    def masked_answers(self, transaction: Transaction) -> str:
        return mask_whole("".join(transaction.answers)) or _NONE


def payer_of(transaction: Transaction, *, is_shown: bool) -> SafeString | str:
    """Return who paid in one line: the name and the e-mail address, or masks of them."""
    name, email = full_name(transaction.customer), transaction.customer_email
    if not is_shown:
        name, email = mask_name(name), mask_email(email)
    parts = [part for part in (name and _own(name), email and ltr(email)) if part]
    return format_html_join(", ", "{}", ((part,) for part in parts)) or _NONE


def _mail_to(transaction: Transaction) -> SafeString | str:
    """Link to a message with the reference as its subject, if the address is one."""
    email = transaction.customer_email
    try:
        validate_email(email)
    except ValidationError:
        return ltr(email) or _NONE
    subject = quote(transaction.reference, safe="")
    return format_html(
        '<a href="mailto:{}?subject={}">{}</a>', quote(email, safe="@"), subject, ltr(email)
    )


def _own(text: str) -> SafeString | str:
    """Show a text in its own writing direction."""
    return format_html('<bdi dir="auto">{}</bdi>', text) if text else _NONE
