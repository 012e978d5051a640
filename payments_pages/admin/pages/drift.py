"""Values that were changed at the service but not by this site, and how staff settle them."""

import json
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest
from django.urls import URLPattern
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.pages.bulk_actions import KEPT, SENT_BACK
from payments_pages.admin.pages.buttons import ButtonsAdminMixin
from payments_pages.admin.pages.formats import field_label, field_value
from payments_pages.models import PaymentPage
from payments_pages.pages import DRIFTING, keep_remote, send_local_back, sendable_drift
from payments_pages.references import text_key

__all__ = ["Drift", "DriftAdminMixin", "describe_drift"]

URL_NAME = "payments_pages_paymentpage_drift"


class DriftRow(NamedTuple):
    """One field of a drift: the value that was set here, and the service's value now."""

    label: str
    before: SafeString | str
    now: SafeString | str


class Drift(NamedTuple):
    """The drift of a page, as its form shows it.

    - `digest`: a hash of the values. A decision counts only for the values that were shown.
    - `can_send`: at least one value can be sent to the service again.
    - `unsendable`: a sentence for each value that cannot.
    """

    rows: list[DriftRow]
    digest: str
    can_send: bool
    unsendable: list[str]


def describe_drift(page: PaymentPage) -> Drift | None:
    """Return the drift of a page; None if it has none."""
    fields = [name for name in DRIFTING if name in page.drift]
    if not fields:
        return None
    sendable = sendable_drift(page)
    return Drift(
        rows=[
            DriftRow(
                field_label(name),
                field_value(page, name, page.drift[name]),
                field_value(page, name, getattr(page, name)),
            )
            for name in fields
        ],
        digest=_digest(page, fields),
        can_send=bool(sendable),
        unsendable=[_unsendable_text(name) for name in fields if name not in sendable],
    )


def _unsendable_text(name: str) -> str:
    """Return why a field cannot be set at the service again, and what staff can do."""
    if name == "redirect_url":
        return _(
            "A redirect address cannot be sent back: the service takes it only with a new page. "
            "Make a new page, or change it in the service’s own dashboard."
        )
    if name != "amount":
        return _(
            "A text as long as this one may not be whole here, so it cannot be sent back. Change "
            "it in the service’s own dashboard."
        )
    return _(
        "That the payer chooses the amount cannot be sent back: the service has no way to take a "
        "price off a page. Make a new page."
    )


def _digest(page: PaymentPage, fields: list[str]) -> str:
    """Return a hash of both values of each field."""
    values = {name: [page.drift[name], getattr(page, name)] for name in fields}
    return text_key(str(page.pk), json.dumps(values, sort_keys=True))[:16]


class DriftAdminMixin(ButtonsAdminMixin):
    """The buttons that settle a page's drift, and the drift above the page's form."""

    def get_urls(self) -> list[URLPattern]:
        return [self.button_path("drift", URL_NAME, self._settle_drift), *super().get_urls()]

    def _settle_drift(self, request: HttpRequest, page: PaymentPage) -> None:
        """Accept the service's values or send the local ones, as staff chose.

        Nothing is done if the values are not those that were shown (`seen` in the request).
        """
        drift = describe_drift(page)
        if drift is None or drift.digest != request.POST.get("seen"):
            text = _(
                "The page changed again meanwhile, and nothing was done. Look at it once more."
            )
            self.message_user(request, text, messages.WARNING)
        elif "send" in request.POST:
            text = _("Sent ours back to the service.")
            self.change_and_tell(request, page, send_local_back, text, SENT_BACK)
        else:
            text = _("Kept what the service has.")
            self.change_and_tell(request, page, keep_remote, text, KEPT)

    def drift_context(self, page: PaymentPage, *, may_change: bool) -> dict[str, Any]:
        """Return the context of the drift above the form."""
        return {
            "drift": describe_drift(page),
            "drift_url": self.reverse(URL_NAME, page.pk) if may_change else "",
        }
