"""The hosted pages, on which a person decides how a payment ends.

The interface says only that pages are served at {pay_url}/<slug> and that the payer is
redirected after a successful payment; the rest is our decision.
"""

from collections.abc import Mapping
from urllib.parse import urlencode

from markupsafe import Markup
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from payments_pages.exceptions import AmountError
from payments_pages.money import format_amount, parse_amount
from payments_pages.sandbox.html import (
    CUSTOM_PREFIX,
    checkout_page,
    custom_fields_of,
    notice,
)
from payments_pages.sandbox.payloads import Payload
from payments_pages.sandbox.payments import UNPAID, Payments, returning_url
from payments_pages.sandbox.state import State

__all__ = ["ENDINGS", "HEADERS", "STATUSES", "Checkout", "page_response"]

EMAIL = "payer@example.test"

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src http: https:; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _FormError(ValueError):
    """What is wrong with a field of the form."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def page_response(
    content: Markup, status: int = 200, *, policy: str = HEADERS["Content-Security-Policy"]
) -> Response:
    """Answer with a page, under its content security policy."""
    headers = {**HEADERS, "Content-Security-Policy": policy}
    kind = "text/html; charset=utf-8"
    return Response(str(content), status=status, content_type=kind, headers=headers)


class Checkout:
    """The hosted pages of a state."""

    def __init__(self, state: State, payments: Payments) -> None:
        self._state = state
        self._payments = payments

    def respond(self, request: Request, segments: tuple[str, ...]) -> Response:
        """Show a page or take what the payer chose; 404 for an unknown or inactive page."""
        page = self._state.page_by_slug(segments[0]) if len(segments) == 1 else None
        if page is None or not page["active"]:
            text = "The link may be wrong, or the merchant has closed the page."
            return page_response(notice("This page is not available", text), 404)
        if request.method in {"GET", "HEAD"}:
            values = {"email": EMAIL, "reference": request.args.get("reference", "")}
            return page_response(checkout_page(page, values=values))
        if request.method != "POST":
            return Response(status=405, headers={"Allow": "GET, HEAD, POST"})
        values = request.form.to_dict()
        try:
            return self._settle(page, values, request.remote_addr or "")
        except _FormError as error:
            form = checkout_page(page, values=values, problem=str(error), wrong=error.field)
            return page_response(form, 422)

    def _settle(self, page: Payload, values: Mapping[str, str], address: str) -> Response:
        choice = values.get("choice", "pay")
        if choice not in STATUSES:
            raise _FormError("Choose how the payment ends.", "choice")
        transaction = self._payments.pay(
            page,
            status=STATUSES[choice],
            reference=self._resumed(page, values.get("reference", "")),
            amount=_amount(page, values),
            late=self._state.account.late_seconds if choice == "late" else None,
            custom_values=_custom_values(page, values),
            email=_email(values),
            first_name=values.get("first_name"),
            last_name=values.get("last_name"),
            phone=values.get("phone"),
            ip_address=address,
        )
        return self._after(choice, page, transaction)

    def _resumed(self, page: Payload, reference: str) -> str | None:
        """Return the reference of an unpaid attempt on this page, to be taken up again."""
        stored = self._state.find_transaction(reference)
        if stored is None or stored.page_id != page["id"]:
            return None
        return reference if stored.data["status"] in UNPAID else None

    def _after(self, choice: str, page: Payload, transaction: Payload) -> Response:
        reference = transaction["reference"]
        # A late payment is not a success yet: this payer comes back before it is one.
        if choice in {"pay", "late"} and page["redirect_url"]:
            names = self._state.account.reference_params
            return redirect(returning_url(page["redirect_url"], reference, names), 303)
        title, text = ENDINGS[choice]
        facts = {
            "Amount": format_amount(transaction["amount"], transaction["currency"]),
            "Reference": reference,
        }
        link = None
        if choice in {"decline", "abandon"}:
            link = (f"?{urlencode({'reference': reference})}", "Try again")
        return page_response(notice(title, text, link=link, facts=facts))


STATUSES = {
    "pay": "success",
    "close": "success",
    "late": "success",
    "decline": "failed",
    "abandon": "abandoned",
}
"""What becomes of a payment, by the button pressed."""

ENDINGS = {
    "pay": ("Payment received", "This is your receipt."),
    "close": ("Payment received", "You may close this tab."),
    "late": ("Payment on its way", "Your bank will confirm it in a moment."),
    "decline": ("Payment failed", "Your bank refused the card. Nothing was charged."),
    "abandon": ("Payment not completed", "Nothing was charged."),
}
"""Title and text of the page that a payer sees after a button."""


def _amount(page: Payload, values: Mapping[str, str]) -> int | None:
    """Read the amount a payer chose, in minor units; None on a page that has its own."""
    if page["amount"] is not None:
        return None
    try:
        return parse_amount(values.get("amount", ""), page["currency"])
    except AmountError as error:
        raise _FormError(str(error), "amount") from None


def _email(values: Mapping[str, str]) -> str:
    email = values.get("email", "").strip()
    name, at, host = email.partition("@")
    if not (name and at and host) or " " in email:
        raise _FormError("Enter an e-mail address, for example payer@example.test.", "email")
    return email


def _custom_values(page: Payload, values: Mapping[str, str]) -> list[Payload]:
    return [
        {
            "display_name": label,
            "variable_name": name,
            "value": values.get(CUSTOM_PREFIX + name, ""),
        }
        for label, name in custom_fields_of(page)
    ]
