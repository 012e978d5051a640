"""The form that changes a page, unless the page changed since the form was opened."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from payments_pages.admin.pages.currencies import HUNDREDTHS, currencies_of
from payments_pages.admin.pages.formats import field_label, field_value
from payments_pages.admin.pages.forms import PaymentPageForm, UnseenField
from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.money import major_text
from payments_pages.pages import UPDATABLE, create_page, refresh_page, update_page

__all__ = ["PaymentPageChangeForm", "Version"]

_SIGNER = Signer(salt="payments_pages.opened")


class Version(NamedTuple):
    """One field's three values: when the form was opened, at the service now, and as typed."""

    label: str
    opened: SafeString | str
    now: SafeString | str
    typed: SafeString | str
    changed_there: bool
    changed_here: bool


class PaymentPageChangeForm(PaymentPageForm):
    """The form that changes a page; it sends only changed fields.

    The form contains the values that it was opened with. If the service has other values now (a
    change in the service's dashboard, or by somebody else here), then

    - nothing is sent, and the form gets an error;
    - `versions` has the values of each field that differs;
    - the mirror gets the service's values, and so do the fields that the reader did not change;
    - saving again sends the reader's values.

    `sent` has the names of the fields that were sent.
    """

    # The values that the form was opened with, signed.
    opened = UnseenField(required=False)

    class Meta(PaymentPageForm.Meta):
        fields: tuple[str, ...] = ("name", "description", "active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.versions: list[Version] = []
        self.sent: tuple[str, ...] = ()
        self.initial["amount"] = "" if self.currencies.asked else _amount_text(self.instance)
        self.initial["opened"] = _SIGNER.sign_object(_values(self.instance), compress=True)
        if self.instance.currency:
            self.fields["amount"].label = gettext("Amount in %(currency)s") % {
                "currency": self.instance.currency
            }

    def clean_amount(self) -> int | None:
        """Return minor units; refuse a blank amount if the page has one: the service keeps it."""
        amount = super().clean_amount()
        if amount is None and self.instance.amount is not None:
            if self.instance.remote_id is None:
                raise ValidationError(gettext("Enter the amount again."), code="blank")
            message = gettext("The service cannot take a price off a page. Make a new page.")
            raise ValidationError(message, code="blank")
        return amount

    def clean_opened(self) -> dict[str, Any] | None:
        """Return the values that the form was opened with; None if the signature is wrong."""
        try:
            values = _SIGNER.unsign_object(self.cleaned_data["opened"])
        except BadSignature:
            return None
        return values if isinstance(values, dict) else None

    def full_clean(self) -> None:
        """Clean the form; after an error, show the row's values in the read-only fields."""
        super().full_clean()
        if self.is_bound and self.errors:
            # If the service refused to create the page, there is no row.
            page = PaymentPage.objects.primary().filter(pk=self.instance.pk).first()
            self.instance = page or self.instance

    def submit(self) -> PaymentPage:
        """Update the page at the service, or create it again if its creation was not confirmed."""
        page = PaymentPage.objects.primary().get(pk=self.instance.pk)
        data: dict[str, Any] = self.cleaned_data
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
        opened = data["opened"] or _values(page)
        now = _values(refresh_page(page))
        if any(not _is_same_value(opened.get(name), now[name]) for name in UPDATABLE):
            self._refuse(page, opened, now)
            return page
        changed = {
            name: data[name] for name in UPDATABLE if not _is_same_value(data[name], now[name])
        }
        self.sent = tuple(changed)
        return update_page(page, **changed) if changed else page

    def _refuse(self, page: PaymentPage, opened: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Add an error, and the versions; give the fields that were not typed in the new values."""
        typed = self.cleaned_data
        replacements = {"opened": _SIGNER.sign_object(dict(now), compress=True)}
        for name in UPDATABLE:
            changed_here = not _is_same_value(typed[name], opened.get(name))
            changed_there = not _is_same_value(opened.get(name), now[name])
            if changed_there and not changed_here:
                replacements[name] = _typed_text(page, name)
            if changed_there or changed_here:
                self.versions.append(
                    Version(
                        field_label(name),
                        field_value(page, name, opened.get(name)),
                        field_value(page, name, now[name]),
                        field_value(page, name, typed[name] if changed_here else now[name]),
                        changed_there=changed_there,
                        changed_here=changed_here,
                    )
                )
        self.replace_typed(replacements)
        message = gettext(
            "This page was changed since you opened it, and nothing of yours was sent. Look at "
            "both versions: saving again sends yours."
        )
        self.add_error(None, message)


def _values(page: PaymentPage) -> dict[str, Any]:
    return {name: getattr(page, name) for name in UPDATABLE}


def _is_same_value(one: object, other: object) -> bool:
    """Return whether two values are equal, without regard to outer blanks and CRLF line breaks."""
    if isinstance(one, str) and isinstance(other, str):
        return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
    return one == other


def _amount_text(page: PaymentPage) -> str:
    if page.amount is None:
        return ""
    currency = currencies_of(page).likeliest
    return major_text(page.amount, conf.exponents.get(currency, HUNDREDTHS))


def _typed_text(page: PaymentPage, name: str) -> str:
    """Return the text that a browser sends for the row's value of a field."""
    if name == "amount":
        return _amount_text(page)
    if name == "active":
        return "on" if page.active else ""
    return str(getattr(page, name))
