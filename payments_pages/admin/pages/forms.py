"""Take pages from staff: major units in, minor units out, refusals on the field they are about."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import DatabaseError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from payments_pages.admin.errors import explain
from payments_pages.admin.pages.currencies import HUNDREDTHS, currencies_of
from payments_pages.admin.pages.questions import QuestionsField
from payments_pages.admin.pages.slugs import SlugInput
from payments_pages.conf import conf
from payments_pages.exceptions import AmountError, PageError, PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.money import format_amount, parse_amount
from payments_pages.pages import MAX_SLUG, check_slug_text, create_page

__all__ = ["LOGO", "PaymentPageAddForm", "PaymentPageForm"]

LOGO = "logo_url"
"""Key of a page's metadata that holds its logo (our decision: the interface names none)."""

_AMOUNT_ERRORS = {
    "currency": _("Type the figure alone, or with this page's own currency."),
    "negative": _("Enter a positive amount."),
    "comma": _("Use a full stop for decimals, for example 120.50."),
    "malformed": _("Enter digits only, for example 120.50."),
    "zero": _("Enter an amount above zero, or leave it empty to let the payer choose."),
    "too_large": _("This amount is too large."),
    "undecided": _("Choose the currency: an amount is read by its decimals."),
}


class WebAddressField(forms.URLField):
    """A URL that a browser can load an image from."""

    default_validators = [URLValidator(schemes=["http", "https"])]


class PaymentPageForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The common part of both forms: `is_valid` also asks the service, as the last of its checks.

    What the service refuses is thereby an error of the form, with the typed values kept, and
    nothing is mirrored that the service does not have. Must run outside a transaction.
    """

    # Before the amount, which is read by it.
    amount_currency = forms.ChoiceField(
        label=_("Currency"),
        required=False,
        help_text=_(
            "Only for reading the amount. The service itself decides the currency of a page."
        ),
    )
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

    def __init__(
        self, *args: Any, site_url: str = "", slug_check_url: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.site_url = site_url
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
        """The currency that the amount is read in; "" for hundredths of whatever it will be."""
        chosen: str = self.cleaned_data.get("amount_currency", "")
        return chosen or self.currencies.likeliest

    def parse(self, text: str) -> int:
        """Read an amount in the currency that the page has, or will have.

        While that is any of several that count hundredths, a code or a symbol is refused: "50 USD"
        must not become 50 ILS.
        """
        if self.currencies.asked and not self.currency and text:
            raise AmountError("The currency is not chosen.", code="undecided")
        return parse_amount(text, self.currency, conf.exponents if self.currency else {})

    def clean_amount(self) -> int | None:
        """Read major units into minor ones; blank is None."""
        text: str = self.cleaned_data["amount"]
        try:
            return self.parse(text)
        except AmountError as error:
            if error.code == "blank":
                return None
            raise ValidationError(self._amount_error(error), code=error.code) from error

    def _amount_error(self, error: AmountError) -> str:
        """Return what is wrong with the amount, in the reader's language."""
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

    def surprise(self) -> str:
        """Say that the service answered with another currency than the amount was read in; or ""."""
        page, amount = self.instance, self.cleaned_data.get("amount")
        known = conf.exponents.get(page.currency)
        if amount is None or page.currency in {"", self.currency}:
            return ""
        if not self.currency and known == HUNDREDTHS:
            return ""
        price = format_amount(amount, page.currency, conf.exponents)
        message = gettext(
            "The service made this page in %(currency)s, and the amount was read as %(read)s: its "
            "price is %(price)s. Correct it if that is not what you meant."
        )
        read = self.currency or gettext("hundredths")
        return message % {"currency": page.currency, "read": read, "price": price}

    def clean_description(self) -> str:
        """Send line breaks as one character: browsers send two, and would change every text."""
        text: str = self.cleaned_data["description"]
        return text.replace("\r\n", "\n")

    def full_clean(self) -> None:
        """Clean the form, then submit it to the service if it has no errors.

        What the service refuses becomes an error of the form, which keeps what was typed.
        """
        super().full_clean()
        if not self.is_bound or self.errors:
            return
        try:
            self.instance = self.submit()
        except PageError as error:
            self.add_error(error.field if error.field in self.fields else None, str(error))
            self._offer_slug(error.slug)
        except (PaymentsPagesError, DatabaseError) as error:
            self.add_error(None, explain(error))

    def _offer_slug(self, slug: str) -> None:
        """Keep the slug of an unanswered creation in the form, for saving again to find it."""
        if slug and "slug" in self.fields:
            self.retype({"slug": slug})

    def retype(self, values: Mapping[str, str]) -> None:
        """Show other texts than the typed ones, by field, as if they had been sent."""
        data: Any = self.data.copy()  # type: ignore[attr-defined]  # what a request sent, or a dict
        for name, value in values.items():
            data[self.add_prefix(name)] = value
        self.data = data

    def submit(self) -> PaymentPage:
        """Carry the form out at the service; return the mirrored page."""
        raise NotImplementedError

    def save(self, commit: bool = True) -> PaymentPage:
        """Return the page: it is saved already, by the use case."""
        page: PaymentPage = self.instance
        return page

    def save_m2m(self) -> None:
        """Do nothing: a page has no related rows to save."""


class PaymentPageAddForm(PaymentPageForm):
    """The form that creates a page."""

    slug = forms.CharField(
        label=_("Slug"),
        required=False,
        max_length=MAX_SLUG,
        help_text=_(
            "The last part of the public address: Latin letters, digits, hyphens and "
            "underscores. Leave it empty to have one made. It cannot be changed later."
        ),
        widget=SlugInput(
            attrs={
                "class": "vTextField",
                "dir": "ltr",
                "autocapitalize": "off",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )
    ask_for = QuestionsField(
        label=_("Ask the payer for"),
        required=False,
        help_text=_(
            "For example: Phone number. The payer fills these in; a name that is left empty is "
            "made up. They cannot be changed later."
        ),
    )
    logo = WebAddressField(
        label=_("Logo image address"),
        required=False,
        max_length=2000,
        assume_scheme="https",
        help_text=_("Shown on the page. It cannot be changed later."),
        widget=forms.URLInput(attrs={"class": "vURLField", "dir": "ltr"}),
    )

    class Meta(PaymentPageForm.Meta):
        fields = ("name", "description", "slug")

    def clean_slug(self) -> str:
        """Refuse a slug that is unsafe in a path, before any call."""
        slug: str = self.cleaned_data["slug"]
        if not slug:
            return ""
        try:
            return check_slug_text(slug)
        except PageError as error:
            raise ValidationError(str(error)) from error

    def submit(self) -> PaymentPage:
        """Create the page at the service and mirror it."""
        data: Mapping[str, Any] = self.cleaned_data
        return create_page(
            name=data["name"],
            amount=data["amount"],
            description=data["description"],
            slug=data["slug"],
            custom_fields=data["ask_for"],
            metadata={LOGO: data["logo"]} if data["logo"] else {},
            site_url=self.site_url,
        )
