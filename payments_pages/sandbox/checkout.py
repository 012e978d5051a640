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
from payments_pages.sandbox.choices import CHOICES, gettext
from payments_pages.sandbox.html import (
    CUSTOM_PREFIX,
    checkout_page,
    custom_fields_of,
    notice,
)
from payments_pages.sandbox.languages import PARAMETER, Language, language_of
from payments_pages.sandbox.payloads import Payload
from payments_pages.sandbox.payments import UNPAID, Payments, merchants_site, returning_url
from payments_pages.sandbox.state import State

__all__ = ["HEADERS", "Checkout", "ended_page", "page_response"]

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
    """An error of one field of the form."""

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
        language = language_of(request)
        page = self._state.page_by_slug(segments[0]) if len(segments) == 1 else None
        if page is None or not page["active"]:
            title = gettext("This page is not available")
            text = gettext("The link may be wrong, or the merchant has closed the page.")
            return page_response(notice(title, text, language=language), 404)
        here = request.query_string.decode("utf-8", "replace")
        if request.method in {"GET", "HEAD"}:
            values = {"email": EMAIL, "reference": request.args.get("reference", "")}
            form = checkout_page(page, values=values, language=language, here=here)
            return page_response(form)
        if request.method != "POST":
            return Response(status=405, headers={"Allow": "GET, HEAD, POST"})
        values = request.form.to_dict()
        try:
            choice, transaction = self._settle(page, values, request.remote_addr or "")
        except _FormError as error:
            form = checkout_page(
                page,
                values=values,
                problem=str(error),
                wrong=error.field,
                language=language,
                here=here,
            )
            return page_response(form, 422)
        return self._after(choice, page, transaction, language)

    def _settle(
        self, page: Payload, values: Mapping[str, str], address: str
    ) -> tuple[str, Payload]:
        name = values.get("choice", "pay")
        choice = CHOICES.get(name)
        if choice is None:
            raise _FormError(gettext("Choose how the payment ends."), "choice")
        transaction = self._payments.pay(
            page,
            status=choice.status,
            reference=self._resumed(page, values.get("reference", "")),
            amount=_amount(page, values),
            late=self._state.account.late_seconds if name == "late" else None,
            custom_values=_custom_values(page, values),
            twist=choice.twist,
            email=_email(values),
            first_name=values.get("first_name"),
            last_name=values.get("last_name"),
            phone=values.get("phone"),
            ip_address=address,
        )
        for _time in range(1, choice.times):
            self._payments.pay_again(transaction["reference"])
        return name, transaction

    def _resumed(self, page: Payload, reference: str) -> str | None:
        """Return the reference of an unpaid attempt on this page, to be taken up again."""
        stored = self._state.find_transaction(reference)
        if stored is None or stored.page_id != page["id"]:
            return None
        return reference if stored.data["status"] in UNPAID else None

    def _after(
        self, name: str, page: Payload, transaction: Payload, language: Language
    ) -> Response:
        choice, reference = CHOICES[name], transaction["reference"]
        # A late payment is not a success yet: this payer comes back before it is one.
        if choice.returns and page["redirect_url"]:
            names = self._state.account.reference_params
            return redirect(returning_url(page["redirect_url"], reference, names), 303)
        again = urlencode({"reference": reference, PARAMETER: language.code})
        return page_response(
            ended_page(name, transaction, f"?{again}", page["redirect_url"], language)
        )


def ended_page(
    name: str, transaction: Payload, again: str, back: str | None, language: Language
) -> Markup:
    """Write the page that follows a choice: what became of it, and a way on.

    `again` is where an unpaid payment may be tried again; `back` is the address that payers return
    to, whose site is linked, blank or None if there is none.
    """
    choice, site = CHOICES[name], merchants_site(back)
    links = [(again, gettext("Try again"))] if choice.unpaid else []
    # To the start of the site, not to the address itself: this payer has not been sent there.
    links += [(site, gettext("Back to the shop"))] if site else []
    facts = {
        gettext("Amount"): format_amount(transaction["amount"], transaction["currency"]),
        gettext("Reference"): transaction["reference"],
    }
    return notice(choice.title, choice.text, links=links, facts=facts, language=language)


def _amount(page: Payload, values: Mapping[str, str]) -> int | None:
    """Read the amount a payer chose, in minor units; None on a page that has its own."""
    if page["amount"] is not None:
        return None
    try:
        return parse_amount(values.get("amount", ""), page["currency"])
    except AmountError:
        text = gettext("Enter an amount above zero, for example 120.50.")
        raise _FormError(text, "amount") from None


def _email(values: Mapping[str, str]) -> str:
    email = values.get("email", "").strip()
    name, at, host = email.partition("@")
    if not (name and at and host) or " " in email:
        text = gettext("Enter an e-mail address, for example payer@example.test.")
        raise _FormError(text, "email")
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
