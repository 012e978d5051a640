"""Change a page, unless it has changed at the service since the form was opened."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from payments_pages.admin.pages.currencies import HUNDREDTHS, currencies_of
from payments_pages.admin.pages.formats import field_label, field_value
from payments_pages.admin.pages.forms import PaymentPageForm
from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.money import major_text
from payments_pages.pages import UPDATABLE, create_page, refresh_page, update_page

__all__ = ["PaymentPageChangeForm", "Version"]

_SIGNER = Signer(salt="payments_pages.opened")


class Version(NamedTuple):
    """Show one field in three versions: as the form was opened with, as it is now, as typed."""

    label: str
    opened: SafeString | str
    now: SafeString | str
    typed: SafeString | str
    changed_there: bool
    changed_here: bool


class OpenedField(forms.CharField):
    """Carry the values that a form was opened with; it is not one of them."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Say no: nobody types here."""
        return False


class PaymentPageChangeForm(PaymentPageForm):
    """Change a page; only what was changed is sent.

    The form carries the values it was opened with. If the service has others by now (changed
    in its own dashboard, or here by somebody else), nothing is sent: `versions` shows both, the
    mirror follows the service, what was not typed in follows too, and saving again is a choice.
    """

    opened = OpenedField(required=False)

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
        """Refuse to take a fixed amount off: the service has no way to."""
        amount = super().clean_amount()
        if amount is None and self.instance.amount is not None:
            if self.instance.remote_id is None:
                raise ValidationError(gettext("Enter the amount again."), code="blank")
            message = gettext("The service cannot take a price off a page. Make a new page.")
            raise ValidationError(message, code="blank")
        return amount

    def clean_opened(self) -> dict[str, Any] | None:
        """Read the values; None if they are not as we wrote them."""
        try:
            values = _SIGNER.unsign_object(self.cleaned_data["opened"])
        except BadSignature:
            return None
        return values if isinstance(values, dict) else None

    def full_clean(self) -> None:
        """Show what the page is, not what was typed, wherever a refused form is read-only."""
        super().full_clean()
        if self.is_bound and self.errors:
            # A creation that the service refused leaves no row.
            page = PaymentPage.objects.primary().filter(pk=self.instance.pk).first()
            self.instance = page or self.instance

    def submit(self) -> PaymentPage:
        """Update the page at the service, or finish a creation that was not confirmed."""
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
        if any(not _same(opened.get(name), now[name]) for name in UPDATABLE):
            self._refuse(page, opened, now)
            return page
        changed = {name: data[name] for name in UPDATABLE if not _same(data[name], now[name])}
        self.sent = tuple(changed)
        return update_page(page, **changed) if changed else page

    def _refuse(self, page: PaymentPage, opened: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Show all versions; let what was not touched follow the service."""
        typed = self.cleaned_data
        renewed = {"opened": _SIGNER.sign_object(dict(now), compress=True)}
        for name in UPDATABLE:
            touched = not _same(typed[name], opened.get(name))
            moved = not _same(opened.get(name), now[name])
            if moved and not touched:
                renewed[name] = _typed_text(page, name)
            if moved or touched:
                self.versions.append(
                    Version(
                        field_label(name),
                        field_value(page, name, opened.get(name)),
                        field_value(page, name, now[name]),
                        field_value(page, name, typed[name] if touched else now[name]),
                        changed_there=moved,
                        changed_here=touched,
                    )
                )
        self.retype(renewed)
        message = gettext(
            "This page was changed since you opened it, and nothing of yours was sent. Look at "
            "both versions: saving again sends yours."
        )
        self.add_error(None, message)


def _values(page: PaymentPage) -> dict[str, Any]:
    return {name: getattr(page, name) for name in UPDATABLE}


def _same(one: object, other: object) -> bool:
    """Compare as a person does: a browser's line breaks and outer blanks change no text."""
    if isinstance(one, str) and isinstance(other, str):
        return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
    return one == other


def _amount_text(page: PaymentPage) -> str:
    if page.amount is None:
        return ""
    currency = currencies_of(page).likeliest
    return major_text(page.amount, conf.exponents.get(currency, HUNDREDTHS))


def _typed_text(page: PaymentPage, name: str) -> str:
    """Return what a browser would send for the mirror's value."""
    if name == "amount":
        return _amount_text(page)
    if name == "active":
        return "on" if page.active else ""
    return str(getattr(page, name))
