"""The forms of a page. Staff type major units; an error is shown at its field."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from payments_pages.admin.errors import explain
from payments_pages.admin.pages.currencies import HUNDREDTHS, currencies_of
from payments_pages.admin.pages.prices import is_far_above
from payments_pages.amounts import amount_text
from payments_pages.conf import conf
from payments_pages.exceptions import AmountError, PageError, PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.money import parse_amount

__all__ = ["PaymentPageForm", "UnseenField"]

_AMOUNT_ERRORS = {
    "currency": _("Type the figure alone, or with this page's own currency."),
    "negative": _("Enter a positive amount."),
    "comma": _("Use a full stop for decimals, for example 120.50."),
    "malformed": _("Enter digits only, for example 120.50."),
    "zero": _("Enter an amount above zero, or leave it empty to let the payer choose."),
    "too_large": _("This amount is too large."),
    "undecided": _("Choose the currency: an amount is read by its decimals."),
}


_IN_ORDER = ("name", "amount", "amount_currency", "description", "slug", "logo")
"""Fields in the order of the screen; the questions have inputs without a common one."""


class UnseenField(forms.CharField):
    """A hidden field of ours; it never counts as changed."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        return False


class PaymentPageForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The common part of both forms: the last check of `is_valid` is the call to the service.

    If the service refuses, the form has an error and keeps the typed values, and no page is
    mirrored. The form must be validated outside of a transaction.
    """

    # Stands before the amount, so that it is cleaned first: the amount depends on it.
    amount_currency = forms.ChoiceField(
        label=_("Currency"),
        required=False,
        help_text=_(
            "Only for reading the amount. The service itself decides the currency of a page."
        ),
    )
    # The price that staff were asked about, so that they are asked once.
    amount_asked = UnseenField(required=False)
    amount = forms.CharField(
        label=_("Amount"),
        required=False,
        max_length=40,
        help_text=_("For example 120.50. Leave it empty to let the payer choose."),
        widget=forms.TextInput(attrs={"inputmode": "decimal", "dir": "ltr", "class": "vTextField"}),
    )

    class Meta:
        model = PaymentPage
        fields: tuple[str, ...] = ("name", "description")
        widgets = {
            "name": forms.TextInput(attrs={"class": "vTextField", "dir": "auto"}),
            "description": forms.Textarea(
                attrs={"class": "vLargeTextField", "rows": 4, "dir": "auto"}
            ),
        }

    class Media:
        js = (forms.Script("payments_pages/errors.js", defer=True),)

    def __init__(
        self, *args: Any, site_url: str = "", slug_check_url: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.site_url = site_url
        self.repeated: PaymentPage | None = None
        self.currencies = currencies_of(self.instance)
        if self.currencies.asked:
            choice: Any = self.fields["amount_currency"]
            choice.choices = [("", "---------"), *((code, code) for code in self.currencies.codes)]
        else:
            del self.fields["amount_currency"]
        if "slug" in self.fields:
            self.fields["slug"].widget.check_url = slug_check_url

    @property
    def currency(self) -> str:
        """The currency in which the amount is read; "" if unknown, but with two decimals."""
        chosen: str = self.cleaned_data.get("amount_currency", "")
        return chosen or self.currencies.likeliest

    def parse(self, text: str) -> int:
        """Return the minor units of a typed amount, in the currency that the page has or will have.

        If the currency is unknown, a code or symbol in the text is refused: "50 USD" must not
        become 50 ILS. Raise `AmountError`.
        """
        if self.currencies.asked and not self.currency and text:
            raise AmountError("The currency is not chosen.", code="undecided")
        return parse_amount(text, self.currency, conf.exponents if self.currency else {})

    def clean_amount(self) -> int | None:
        """Return minor units; None if the text is blank."""
        text: str = self.cleaned_data["amount"]
        try:
            amount = self.parse(text)
        except AmountError as error:
            if error.code == "blank":
                return None
            raise ValidationError(self._amount_error(error), code=error.code) from error
        self._ask_about(amount)
        return amount

    def _ask_about(self, amount: int) -> None:
        """Raise `ValidationError` once if the price is far above all others."""
        asked = f"{amount} {self.currency}"
        if self.cleaned_data["amount_asked"] != asked and is_far_above(amount, self.currency):
            self.replace_typed({"amount_asked": asked})
            message = gettext(
                "Really %(price)s? That is far above every other price here. Save again if it is "
                "what you mean."
            )
            raise ValidationError(message % {"price": self._price(amount)}, code="unusual")

    def _price(self, amount: int) -> str:
        if self.currency:
            return amount_text(amount, self.currency)
        return f"{amount // 10**HUNDREDTHS:,}.{amount % 10**HUNDREDTHS:0{HUNDREDTHS}}"

    def _amount_error(self, error: AmountError) -> str:
        """Return the text of an amount's error, in the reader's language."""
        if error.code == "ambiguous":
            one, other = error.readings
            message = gettext("This can be read as %(one)s or as %(other)s. Enter one of them.")
            return message % {"one": one, "other": other}
        if error.code == "decimals" and not error.exponent:
            return gettext("%(currency)s has no decimals.") % {"currency": self.currency}
        if error.code == "decimals":
            message = gettext("The service takes at most %(count)d decimals.")
            return message % {"count": error.exponent}
        if error.code == "currency" and self.currency and self.currency not in conf.exponents:
            message = gettext(
                "The decimals of %(currency)s are not known here. Add it to the CURRENCIES setting."
            )
            return message % {"currency": self.currency}
        return str(_AMOUNT_ERRORS[error.code])

    def currency_warning(self) -> str:
        """Return a warning if the amount was read in another currency than the page has; else ""."""
        page, amount = self.instance, self.cleaned_data.get("amount")
        known = conf.exponents.get(page.currency)
        if amount is None or page.currency in {"", self.currency}:
            return ""
        if not self.currency and known == HUNDREDTHS:
            return ""
        price = amount_text(amount, page.currency)
        message = gettext(
            "The service made this page in %(currency)s, and the amount was read as %(read)s: its "
            "price is %(price)s. Correct it if that is not what you meant."
        )
        read_as = self.currency or gettext("hundredths")
        return message % {"currency": page.currency, "read": read_as, "price": price}

    def clean_description(self) -> str:
        """Replace CRLF, which browsers send, with LF: otherwise every text would seem changed."""
        text: str = self.cleaned_data["description"]
        return text.replace("\r\n", "\n")

    def full_clean(self) -> None:
        """Clean the form; if it has no errors, submit it to the service.

        A refusal of the service becomes an error of the form, which keeps the typed values.
        """
        super().full_clean()
        if self.is_bound and not self.errors:
            self._submit()
        if self.is_bound and self.errors:
            self._focus_error()

    def _submit(self) -> None:
        try:
            self.instance = self.submit()
        except PageError as error:
            self.repeated = self.find_repeated()
            self.add_error(error.field if error.field in self.fields else None, str(error))
            self._keep_slug(error.slug)
        except (PaymentsPagesError, DatabaseError) as error:
            self.add_error(None, explain(error))

    def _focus_error(self) -> None:
        """Let the browser put the focus on the first field in error."""
        for name in _IN_ORDER:
            if name in self.fields and name in self.errors:
                self.fields[name].widget.attrs["autofocus"] = True
                return

    def _keep_slug(self, slug: str) -> None:
        """Put the slug of a page whose creation got no response into the form.

        Saving the form again then finds the page.
        """
        if slug and "slug" in self.fields:
            self.replace_typed({"slug": slug})

    def replace_typed(self, values: Mapping[str, str]) -> None:
        """Replace the typed text of fields, as if the browser had sent these values."""
        data: Any = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict or a dict
        for name, value in values.items():
            data[self.add_prefix(name)] = value
        self.data = data

    def find_repeated(self) -> PaymentPage | None:
        """Return the page that this form has made already, if it was sent twice."""
        return None

    def submit(self) -> PaymentPage:
        """Create or change the page at the service; return its row."""
        raise NotImplementedError

    def save(self, commit: bool = True) -> PaymentPage:
        """Return the page: `submit()` has saved it already."""
        page: PaymentPage = self.instance
        return page

    def save_m2m(self) -> None:
        """Do nothing: a page has no related rows to save."""
