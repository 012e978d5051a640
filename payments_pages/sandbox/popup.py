"""Started checkouts, shown in the popup on a merchant's site or to a payer who was sent here.

POST /checkout/start    {"key": …, "reference": …, "amount": …, "currency": …, "email": …}
GET  /checkout/<code>   where the payer decides; with `?popup` it tells the site around it

A script on any site may start one and gets JSON; a plain form may too, and its payer is sent on.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from markupsafe import Markup
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from payments_pages.sandbox.checkout import HEADERS, ended_page, page_response
from payments_pages.sandbox.checkouts import StartRefused, Starts
from payments_pages.sandbox.choices import CHOICES, gettext
from payments_pages.sandbox.html import notice, started_page, telling
from payments_pages.sandbox.languages import PARAMETER, Language, language_of
from payments_pages.sandbox.payloads import Payload, encode, envelope
from payments_pages.sandbox.payments import UNPAID, Payments, returning_url
from payments_pages.sandbox.state import State, StoredTransaction

__all__ = ["Popup"]

START = "start"

CORS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store"}
"""Any site may start a checkout: there is no cookie here that a foreign one could ride on."""

PREFLIGHT = {
    **CORS,
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "600",
}

FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


class Popup:
    """The started checkouts of a state."""

    def __init__(self, state: State, payments: Payments, starts: Starts) -> None:
        self._state = state
        self._payments = payments
        self._starts = starts

    def respond(self, request: Request, segments: tuple[str, ...]) -> Response:
        """Start a checkout, show it, or take what its payer chose; 404 for an unknown code."""
        if segments == (START,):
            return self._start(request)
        stored = self._state.find_checkout(segments[0]) if len(segments) == 1 else None
        language = language_of(request)
        if stored is None:
            title = gettext("This payment is not known")
            text = gettext("The link may be wrong, or the payment was begun anew.")
            return page_response(notice(title, text, language=language), 404)
        if request.method not in {"GET", "HEAD", "POST"}:
            return Response(status=405, headers={"Allow": "GET, HEAD, POST"})
        # Only the site that started it may show it in a frame, and gets messages.
        origin = stored.origin if "popup" in request.args else ""
        if stored.data["status"] not in UNPAID:
            return self._ended(stored, origin, "pay", language)
        if request.method == "POST":
            return self._settle(request, stored, origin, language)
        page = started_page(stored.data, language=language, here=_query(request))
        return _page(page, origin)

    def _start(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status=204, headers=PREFLIGHT)
        if request.method != "POST":
            return Response(status=405, headers={**CORS, "Allow": "POST, OPTIONS"})
        by_form = request.mimetype in FORM_TYPES
        try:
            fields: Payload = request.form.to_dict() if by_form else _read(request)
            self._starts.check_key(fields.pop("key", ""))
            known = {name: fields[name] for name in _FIELDS if name in fields}
            # A plain form's site shows no frame.
            origin = "" if by_form else request.headers.get("Origin", "")
            started = self._starts.start(**known, origin=origin)
        except StartRefused as refused:
            if by_form:
                title = gettext("The payment did not start")
                page = notice(title, f"{refused.message}.", language=language_of(request))
                return page_response(page, refused.status)
            return _json(_refusal(refused), refused.status)
        if by_form:
            return redirect(started["authorization_url"], HTTPStatus.SEE_OTHER)
        return _json(envelope("Authorization URL created", started))

    def _settle(
        self, request: Request, stored: StoredTransaction, origin: str, language: Language
    ) -> Response:
        name = request.form.get("choice", "pay")
        choice = CHOICES.get(name)
        if choice is None:
            problem = gettext("Choose how the payment ends.")
            page = started_page(
                stored.data, problem=problem, language=language, here=_query(request)
            )
            return _page(page, origin, status=422)
        reference = stored.data["reference"]
        late = self._state.account.late_seconds if name == "late" else None
        address = {"ip_address": request.remote_addr or ""}
        try:
            self._payments.end(
                reference, status=choice.status, late=late, overrides=address, twist=choice.twist
            )
            for _time in range(1, choice.times):
                self._payments.pay_again(reference)
        except ValueError:
            # Paid in another tab a moment ago.
            name = "pay"
        ended = self._state.find_checkout(stored.access_code) or stored
        return self._ended(ended, origin, name, language)

    def _ended(
        self, stored: StoredTransaction, origin: str, choice: str, language: Language
    ) -> Response:
        data = stored.data
        back = stored.callback_url
        if back and not origin and CHOICES[choice].returns:
            names = self._state.account.reference_params
            return redirect(returning_url(back, data["reference"], names), HTTPStatus.SEE_OTHER)
        name = "late" if data["status"] == "pending" else choice
        again = f"?{'popup&' if origin else ''}{PARAMETER}={language.code}"
        # In a popup the shop is around this page already.
        page = ended_page(name, data, again, "" if origin else back, language)
        if choice == "close":
            # A payer who pays and leaves sends no message: the site hears of it by other doors.
            return _page(page, origin)
        ends = "no" if choice == "decline" else "yes"
        told = {"reference": data["reference"], "status": data["status"], "ends": ends}
        return _page(page, origin, told=told)


def _query(request: Request) -> str:
    return request.query_string.decode("utf-8", "replace")


_FIELDS = ("reference", "amount", "currency", "email", "metadata", "callback_url")


def _page(
    content: Markup, origin: str, *, status: int = 200, told: Mapping[str, str] | None = None
) -> Response:
    """Answer with a page; in a popup of `origin` it may be framed there, and tells it `told`."""
    if not origin:
        return page_response(content, status)
    policy = HEADERS["Content-Security-Policy"].replace(
        "frame-ancestors 'none'", f"frame-ancestors {origin}; script-src 'self'"
    )
    return page_response(
        telling(content, {"origin": origin, **(told or {})}), status, policy=policy
    )


def _read(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(request.get_data())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise StartRefused("Send a JSON object")
    return body


def _refusal(refused: StartRefused) -> Payload:
    kind = "validation_error"
    return {"status": False, "message": refused.message, "type": kind, "code": refused.code}


def _json(payload: object, status: int = 200) -> Response:
    kind = "application/json"
    return Response(encode(payload), status=status, content_type=kind, headers=CORS)
