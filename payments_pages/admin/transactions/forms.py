"""Ask staff for what an action needs: a reason, a note, a page."""

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
from payments_pages.models import PaymentPage, Transaction
from payments_pages.pages import slug_key

__all__ = ["SUGGESTIONS", "ActionForm", "AttributeForm", "NoteForm", "ReasonForm"]

SUGGESTIONS = 50
"""Pages offered while staff type one (docs/cases.md C66)."""
_LINES = {"rows": 3, "dir": "auto", "class": "vLargeTextField"}
_ID_DIGITS = 18


class ActionForm(forms.Form):
    """Ask for nothing; know the payments that are acted on: one, or those that are ticked."""

    def __init__(self, *args: Any, transactions: Iterable[Transaction] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.transactions = transactions


class ReasonForm(ActionForm):
    """Ask for the reason of a decision about money."""

    note = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=staff.NOTE_LENGTH,
        help_text=gettext_lazy("It stays in the timeline, beside your name."),
        widget=forms.Textarea(attrs=_LINES),
    )


class NoteForm(ActionForm):
    """Ask for a note."""

    note = forms.CharField(
        label=gettext_lazy("Note"),
        max_length=staff.NOTE_LENGTH,
        help_text=gettext_lazy("For staff only. It cannot be changed or taken back."),
        widget=forms.Textarea(attrs=_LINES),
    )


class AttributeForm(ActionForm):
    """Ask which page a payment pays for; a page is typed, so there may be any number of them."""

    page = forms.CharField(
        label=gettext_lazy("Payment page"),
        max_length=500,
        help_text=gettext_lazy("Its slug, its public address, its number or its exact name."),
        widget=forms.TextInput(
            attrs={"class": "vTextField", "dir": "auto", "list": "pp-pages", "autocomplete": "off"}
        ),
    )
    note = forms.CharField(
        label=gettext_lazy("How you know"),
        required=False,
        max_length=staff.NOTE_LENGTH,
        help_text=gettext_lazy("It stays in the timeline, beside your name."),
        widget=forms.Textarea(attrs=_LINES),
    )

    def clean_page(self) -> PaymentPage:
        """Find the one page that was meant; refuse what fits none or several."""
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
        if typed.isascii() and typed.isdigit() and len(typed) <= _ID_DIGITS:
            found = pages.filter(remote_id=int(typed)).first()
        if found is not None:
            return found
        # Compared here as well: a collation may take "Tea" and "tea" for one name.
        named = [page for page in pages.filter(name=typed)[:SUGGESTIONS] if page.name == typed]
        if len(named) > 1:
            raise forms.ValidationError(_("Several pages have this name. Give the slug."))
        if not named:
            raise forms.ValidationError(_("There is no such page here. Sync, or check the slug."))
        return named[0]

    def suggestions(self) -> list[PaymentPage]:
        """Return pages that one of these payments would be enough for, the dearest first."""
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
