"""Take pages from staff: major units in, minor units out, refusals on the field they are about."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from payments_pages.conf import conf
from payments_pages.exceptions import (
    AmountError,
    AuthenticationFailed,
    ConfigurationError,
    PageError,
    PaymentsPagesError,
    RequestRefused,
    ServiceError,
)
from payments_pages.models import PaymentPage
from payments_pages.money import major_text, parse_amount
from payments_pages.pages import check_slug_text, create_page, update_page

__all__ = ["PaymentPageAddForm", "PaymentPageChangeForm", "explain"]

_AMOUNT_ERRORS = {
    "currency": _("Type the figure alone, or with this page's own currency."),
    "negative": _("Enter a positive amount."),
    "comma": _("Use a full stop for decimals, for example 120.50."),
    "malformed": _("Enter digits only, for example 120.50."),
    "zero": _("Enter an amount above zero, or leave it empty to let the payer choose."),
    "too_large": _("This amount is too large."),
}
LOGO = "logo_url"


class PaymentPageForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Be what both forms are: `is_valid` also asks the service, as the last of its checks.

    What the service refuses is thereby an error of the form, with the typed values kept, and
    nothing is mirrored that the service does not have. Must run outside a transaction.
    """

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

    def __init__(self, *args: Any, site_url: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.site_url = site_url

    def parse(self, text: str) -> int:
        """Read an amount in the page's own currency."""
        return parse_amount(text, self.instance.currency, conf.exponents)

    def clean_amount(self) -> int | None:
        """Read major units into minor ones; blank is None."""
        text: str = self.cleaned_data["amount"]
        try:
            return self.parse(text)
        except AmountError as error:
            if error.code == "blank":
                return None
            if error.code == "decimals":
                message = gettext("The service takes at most %(count)d decimals.") % {
                    "count": error.exponent
                }
                raise ValidationError(message, code="decimals") from error
            raise ValidationError(_AMOUNT_ERRORS[error.code], code=error.code) from error

    def _post_clean(self) -> None:
        """Ask the service once all else is right, as `UserCreationForm` checks passwords here."""
        super()._post_clean()  # type: ignore[misc]  # Django's hook, not in its stubs
        if self.errors:
            return
        try:
            self.instance = self.submit()
        except PageError as error:
            self.add_error(error.field if error.field in self.fields else None, str(error))
            self._offer_slug(error.slug)
        except PaymentsPagesError as error:
            self.add_error(None, explain(error))
        except DatabaseError:
            message = gettext("The database is busy. The service may have taken the change: sync.")
            self.add_error(None, message)

    def _offer_slug(self, slug: str) -> None:
        """Keep the slug of an unanswered creation in the form, for saving again to find it."""
        if slug and "slug" in self.fields:
            self.data = {**self.data, self.add_prefix("slug"): slug}

    def submit(self) -> PaymentPage:
        """Carry the form out at the service; return the mirrored page."""
        raise NotImplementedError

    def save(self, commit: bool = True) -> PaymentPage:  # noqa: ARG002, FBT001, FBT002 - Django's signature
        """Return the page: it is saved already, by the use case."""
        page: PaymentPage = self.instance
        return page

    def save_m2m(self) -> None:
        """Do nothing: a page has no related rows to save."""


class PaymentPageAddForm(PaymentPageForm):
    """Create a page."""

    slug = forms.CharField(
        label=_("Slug"),
        required=False,
        max_length=100,
        help_text=_(
            "The last part of the public address: Latin letters, digits, hyphens and "
            "underscores. Leave it empty to have one made. It cannot be changed later."
        ),
        widget=forms.TextInput(attrs={"class": "vTextField", "dir": "ltr"}),
    )
    ask_for = forms.CharField(
        label=_("Ask the payer for"),
        required=False,
        help_text=_("One question per line, for example: Phone number."),
        widget=forms.Textarea(attrs={"class": "vLargeTextField", "rows": 3, "dir": "auto"}),
    )
    logo = forms.URLField(
        label=_("Logo image address"),
        required=False,
        assume_scheme="https",
        widget=forms.URLInput(attrs={"class": "vURLField", "dir": "ltr"}),
    )

    class Meta(PaymentPageForm.Meta):
        fields = ("name", "description", "slug")

    def parse(self, text: str) -> int:
        """Read a bare figure in hundredths: only the service knows the currency yet.

        With no known currencies any code or symbol is refused: "50 USD" must not become 50 ILS.
        """
        return parse_amount(text, "", {})

    def clean_slug(self) -> str:
        """Refuse a slug that is unsafe in a path, before any call."""
        slug: str = self.cleaned_data["slug"]
        if not slug:
            return ""
        try:
            return check_slug_text(slug)
        except PageError as error:
            raise ValidationError(str(error)) from error

    def clean_ask_for(self) -> list[dict[str, str]]:
        """Turn each line into a custom field as the service's other end shows them."""
        lines = [line.strip() for line in self.cleaned_data["ask_for"].splitlines()]
        return [
            {
                "display_name": line,
                "variable_name": slugify(line).replace("-", "_") or f"field_{number}",
            }
            for number, line in enumerate(filter(None, lines), 1)
        ]

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


class PaymentPageChangeForm(PaymentPageForm):
    """Change a page; only what was changed is sent."""

    class Meta(PaymentPageForm.Meta):
        fields = ("name", "description", "active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.amount is not None:
            exponent = conf.exponents.get(self.instance.currency, 2)
            self.initial["amount"] = major_text(self.instance.amount, exponent)
        if self.instance.currency:
            self.fields["amount"].label = gettext("Amount in %(currency)s") % {
                "currency": self.instance.currency
            }

    def clean_amount(self) -> int | None:
        """Refuse to take a fixed amount off: the service has no way to."""
        amount = super().clean_amount()
        if amount is None and self.instance.amount is not None:
            message = gettext("The service cannot take a price off a page. Make a new page.")
            raise ValidationError(message, code="blank")
        return amount

    def submit(self) -> PaymentPage:
        """Update the page at the service, or finish a creation that was not confirmed."""
        page = PaymentPage.objects.primary().get(pk=self.instance.pk)
        data: Mapping[str, Any] = self.cleaned_data
        if page.remote_id is None:
            return create_page(
                name=data["name"],
                amount=data["amount"],
                description=data["description"],
                slug=page.slug,
                custom_fields=page.custom_fields,
                metadata=page.metadata,
                site_url=self.site_url,
            )
        changed = {name: data[name] for name in self.changed_data if name in data}
        return update_page(page, **changed) if changed else page


def explain(error: PaymentsPagesError) -> str:
    """Tell staff what went wrong at the service and what they can do."""
    if isinstance(error, AuthenticationFailed):
        return gettext("The service refused our key. Somebody must check SECRET_KEY.")
    if isinstance(error, RequestRefused):
        return gettext("The service refused this: %(message)s") % {"message": error}
    if isinstance(error, ConfigurationError):
        return str(error)
    if isinstance(error, ServiceError) and error.maybe_done:
        return gettext(
            "The service did not answer. It may have taken the change: save again, or sync."
        )
    if isinstance(error, ServiceError):
        return gettext("The service cannot be reached right now. Nothing was changed.")
    return str(error)
