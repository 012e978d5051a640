"""Forms for what an action needs: a reason, a note, a page."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages import staff
from payments_pages.admin.errors import explain
from payments_pages.conf import conf
from payments_pages.exceptions import UnusableKey
from payments_pages.ids import parse_id
from payments_pages.models import PaymentPage, Transaction
from payments_pages.pages import slug_key

__all__ = ["SUGGESTIONS", "ActionForm", "AttributeForm", "NoteForm", "ReasonForm"]

SUGGESTIONS = 50
"""Pages offered as suggestions at most."""


class ActionForm(forms.Form):
    """A form without fields. `transactions` are the payments to act on: one, or those ticked."""

    def __init__(self, *args: Any, transactions: Iterable[Transaction] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.transactions = transactions


def _note_field(label: Any, help_text: Any, *, required: bool = True) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=required,
        max_length=staff.NOTE_LENGTH,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto", "class": "vLargeTextField"}),
    )


_IN_TIMELINE = gettext_lazy("It stays in the timeline, beside your name.")


class ReasonForm(ActionForm):
    """The reason of a decision about money."""

    note = _note_field(gettext_lazy("Reason"), _IN_TIMELINE)


class NoteForm(ActionForm):
    """A note."""

    note = _note_field(
        gettext_lazy("Note"), gettext_lazy("For staff only. It cannot be changed or deleted.")
    )


class AttributeForm(ActionForm):
    """The page that a payment pays for. Staff type it: a list could be thousands of pages long."""

    page = forms.CharField(
        label=gettext_lazy("Payment page"),
        max_length=500,
        help_text=gettext_lazy("Its slug, its public address, its number or its exact name."),
        widget=forms.TextInput(
            attrs={"class": "vTextField", "dir": "auto", "list": "pp-pages", "autocomplete": "off"}
        ),
    )
    note = _note_field(gettext_lazy("How you know"), _IN_TIMELINE, required=False)

    def clean_page(self) -> PaymentPage:
        """Return the page; raise `ValidationError` if the text names none, or several."""
        typed: str = self.cleaned_data["page"].strip()
        slug = typed.rstrip("/").rpartition("/")[2]
        try:
            mode = conf.mode
        except UnusableKey as error:
            raise forms.ValidationError(explain(error)) from error
        pages = PaymentPage.objects.primary().filter(domain=mode)
        found = pages.filter(slug_key=slug_key(slug, mode)).first()
        if found is not None:
            return found
        remote_id = parse_id(typed)
        if remote_id is not None:
            found = pages.filter(remote_id=remote_id).first()
        if found is not None:
            return found
        # Compared here as well: for some collations "Tea" and "tea" are equal.
        named = [page for page in pages.filter(name=typed)[:SUGGESTIONS] if page.name == typed]
        if len(named) > 1:
            raise forms.ValidationError(_("Several pages have this name. Give the slug."))
        if not named:
            raise forms.ValidationError(_("There is no such page here. Sync, or check the slug."))
        return named[0]

    def suggestions(self) -> list[PaymentPage]:
        """Return pages whose price one of these payments covers, the most expensive first."""
        most: dict[str, int] = {}
        for paid in self.transactions:
            if paid.amount is not None:
                code = paid.currency.upper()
                most[code] = max(paid.amount, most.get(code, 0))
        fits = Q(pk=None)
        for code, amount in most.items():
            fits |= Q(currency=code) & (Q(amount__isnull=True) | Q(amount__lte=amount))
        pages = PaymentPage.objects.primary().confirmed().sold_here()
        pages = pages.filter(fits, domain=conf.mode_or_blank)
        return list(pages.exclude(slug="").order_by("-active", "-amount", "pk")[:SUGGESTIONS])
