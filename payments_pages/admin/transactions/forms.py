"""Forms for what an action needs: a reason, a note, a page."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages import staff
from payments_pages.admin.errors import explain
from payments_pages.admin.formats import page_name
from payments_pages.conf import conf
from payments_pages.exceptions import UnusableKey
from payments_pages.ids import parse_id
from payments_pages.marks import clean_pasted
from payments_pages.models import PaymentPage, Transaction
from payments_pages.money import fold_currency
from payments_pages.pages import slug_key

__all__ = [
    "OFFERED",
    "SUGGESTIONS",
    "ActionForm",
    "AttributeForm",
    "NoteForm",
    "ReasonForm",
    "SeenForm",
]

OFFERED = 8
"""Pages to choose from at most."""
SUGGESTIONS = 50
"""Pages suggested while another one is typed, at most."""


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


class SeenForm(ActionForm):
    """What staff did about a refund or dispute, if they want to say so."""

    note = _note_field(gettext_lazy("Note"), _IN_TIMELINE, required=False)


class AttributeForm(ActionForm):
    """The page that a payment pays for: one whose price and currency fit, or any other.

    A list of all could be thousands of pages long, so the others are typed.
    """

    fitting = forms.ChoiceField(
        label=gettext_lazy("Payment page"), required=False, widget=forms.RadioSelect
    )
    page = forms.CharField(
        label=gettext_lazy("Another page"),
        max_length=500,
        required=False,
        help_text=gettext_lazy("Its slug, its public address, its number or its exact name."),
        widget=forms.TextInput(
            attrs={"class": "vTextField", "dir": "auto", "list": "pp-pages", "autocomplete": "off"}
        ),
    )
    note = _note_field(gettext_lazy("How you know"), _IN_TIMELINE, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fitting = self._fitting()
        self._offered = {str(page.pk): page for page in fitting}
        if fitting:
            names: Any = [(pk, page_name(page)) for pk, page in self._offered.items()]
            self.fields["fitting"].choices = [*names, ("", _("Another page"))]  # type: ignore[attr-defined]  # of a ChoiceField
        else:
            del self.fields["fitting"]
            self.fields["page"].label = gettext_lazy("Payment page")

    def clean(self) -> dict[str, Any]:
        """Return the note and the page, whichever way it was chosen."""
        cleaned = super().clean() or {}
        chosen = self._offered.get(cleaned.pop("fitting", ""))
        named = cleaned.get("page")
        if chosen is not None and named not in {None, chosen}:
            self.add_error("page", _("Choose a page, or name another one, and not both."))
        elif chosen is not None:
            cleaned["page"] = chosen
        elif named is None and not self.errors:
            self.add_error("page", _("Choose a page, or name another one."))
        return cleaned

    def clean_page(self) -> PaymentPage | None:
        """Return the page that was typed; None without a text.

        Raise `ValidationError` if the text names no page, or several.
        """
        typed: str = self.cleaned_data["page"].strip()
        if not typed:
            return None
        pasted = clean_pasted(typed)
        slug = pasted.rstrip("/").rpartition("/")[2]
        try:
            mode = conf.mode
        except UnusableKey as error:
            raise forms.ValidationError(explain(error)) from error
        pages = PaymentPage.objects.primary().filter(domain=mode)
        found = pages.filter(slug_key=slug_key(slug, mode)).first()
        if found is not None:
            return found
        remote_id = parse_id(pasted)
        if remote_id is not None:
            found = pages.filter(remote_id=remote_id).first()
        if found is not None:
            return found
        # Compared here as well: for some collations "Tea" and "tea" are equal. A name may contain
        # such a mark itself, so it is looked up as it was typed, too.
        names = {typed, pasted}
        named = [page for page in pages.filter(name__in=names)[:SUGGESTIONS] if page.name in names]
        if len(named) > 1:
            raise forms.ValidationError(_("Several pages have this name. Give the slug."))
        if not named:
            raise forms.ValidationError(_("There is no such page here. Sync, or check the slug."))
        return named[0]

    def suggestions(self) -> list[PaymentPage]:
        """Return pages whose price one of these payments covers, the most expensive first."""
        pages = self._affordable().order_by("-active", "-amount", "pk")
        return list(pages.exclude(slug="")[:SUGGESTIONS])

    def _fitting(self) -> list[PaymentPage]:
        """Return the pages to choose from: on sale, at what was paid or less, the nearest first.

        Of several payments, what the one with the most paid. Pages at a price of the payer's own
        choice come last.
        """
        pages = self._affordable().filter(active=True, missing_since__isnull=True)
        return list(pages.order_by(F("amount").desc(nulls_last=True), "pk")[:OFFERED])

    def _affordable(self) -> QuerySet[PaymentPage]:
        most: dict[str, int] = {}
        for paid in self.transactions:
            if paid.amount is not None:
                code = fold_currency(paid.currency)
                most[code] = max(paid.amount, most.get(code, 0))
        fits = Q(pk=None)
        for code, amount in most.items():
            fits |= Q(currency=code) & (Q(amount__isnull=True) | Q(amount__lte=amount))
        pages = PaymentPage.objects.primary().confirmed().sold_here()
        return pages.filter(fits, domain=conf.mode_or_blank)
