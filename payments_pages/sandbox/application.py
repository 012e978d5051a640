"""The parts of the sandbox as one WSGI application.

/api/…         the service's interface, for merchants' servers
/pay/<slug>    the hosted pages, for payers
/checkout/…    checkouts for a given reference: started by browsers, shown to payers
/inline.js     the script a merchant's page shows such a checkout with, in a popup
/_sandbox/…    control, for demos and tests in other processes
/              what there is, for a person on this machine
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from werkzeug.wrappers import Request, Response

from payments_pages.sandbox.api import Api, ApiRequest, find_call
from payments_pages.sandbox.checkout import Checkout
from payments_pages.sandbox.checkouts import Starts
from payments_pages.sandbox.control import Control
from payments_pages.sandbox.fault_injection import hold, send_badly, shape
from payments_pages.sandbox.faults import Faults
from payments_pages.sandbox.html import asset
from payments_pages.sandbox.http_server import CONNECTION, TARGET
from payments_pages.sandbox.overview import Overview
from payments_pages.sandbox.payments import Payments
from payments_pages.sandbox.popup import Popup
from payments_pages.sandbox.responses import Answer
from payments_pages.sandbox.state import RecordedRequest, State
from payments_pages.sandbox.timers import Timers
from payments_pages.sandbox.webhooks import Webhooks

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = [
    "API_PATH",
    "CHECKOUT_PATH",
    "CONTROL_PATH",
    "INLINE_PATH",
    "PAY_PATH",
    "Application",
]

API_PATH = "/api"
PAY_PATH = "/pay"
CONTROL_PATH = "/_sandbox"
CHECKOUT_PATH = "/checkout"
INLINE_PATH = "/inline.js"
ASSETS = {
    "/checkout.css": "text/css; charset=utf-8",
    "/icon.svg": "image/svg+xml",
    "/popup.js": "text/javascript; charset=utf-8",
    INLINE_PATH: "text/javascript; charset=utf-8",
}

# Where browsers look when they show what is no page, such as JSON.
ICONS = {"/favicon.ico": "/icon.svg"}

# A changed script must not meet pages of another version.
ASSET_HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}


class Application:
    """The sandbox as WSGI.

    Its server must put the raw request target and the connection into the environ, under
    `wire.TARGET` and `wire.CONNECTION`.
    """

    def __init__(
        self,
        *,
        state: State,
        faults: Faults,
        webhooks: Webhooks,
        payments: Payments,
        starts: Starts,
        timers: Timers,
    ) -> None:
        self._state = state
        self._faults = faults
        self._timers = timers
        self._api = Api(state, payments)
        self._checkout = Checkout(state, payments)
        self._popup = Popup(state, payments, starts)
        self._overview = Overview(state, faults, pay_path=PAY_PATH, control_path=CONTROL_PATH)
        self._control = Control(state, faults, webhooks, payments, starts)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer a request."""
        path, _question_mark, _query = environ[TARGET].partition("?")
        if path.startswith(f"{API_PATH}/"):
            return self._answer_api(path.removeprefix(API_PATH), environ, start_response)
        # Segments are split before they are decoded: %2F does not split.
        prefix, *segments = (unquote(segment) for segment in path[1:].split("/"))
        request = Request(environ)
        if f"/{prefix}" == CONTROL_PATH:
            response = self._control.respond(request, tuple(segments))
        elif f"/{prefix}" == PAY_PATH:
            response = self._checkout.respond(request, tuple(segments))
        elif f"/{prefix}" == CHECKOUT_PATH:
            response = self._popup.respond(request, tuple(segments))
        elif path == "/":
            response = self._overview.respond(request)
        elif (name := ICONS.get(path, path)) in ASSETS:
            response = Response(asset(name[1:]), content_type=ASSETS[name], headers=ASSET_HEADERS)
        else:
            response = Response("There is nothing here.\n", status=404)
        return response(environ, start_response)

    def _answer_api(
        self, path: str, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        method, query = environ["REQUEST_METHOD"], environ["QUERY_STRING"]
        request = ApiRequest(
            authorization=environ.get("HTTP_AUTHORIZATION", ""),
            content_type=environ["CONTENT_TYPE"],
            query=query,
            body=environ["wsgi.input"].read(),
        )
        call = find_call(method, tuple(unquote(segment) for segment in path[1:].split("/")))
        operation, key = (call.operation, call.key) if call else ("", "")
        self._state.record(
            RecordedRequest(
                method=method,
                path=path,
                query=query,
                headers=_headers(environ),
                body=request.body,
                operation=operation,
                key=key,
            )
        )
        plan = self._faults.take(operation, key)
        answer = shape(plan, lambda: self._api.answer(call, request))
        hold(plan, self._timers)
        send_badly(plan.shape, answer, environ[CONNECTION], self._timers)
        return _respond(answer, start_response)


def _headers(environ: "WSGIEnvironment") -> dict[str, str]:
    """List a request's headers in lower case, without the secret key."""
    headers = {
        key[5:].replace("_", "-").lower(): value
        for key, value in environ.items()
        if key.startswith("HTTP_") and key != "HTTP_AUTHORIZATION"
    }
    if environ["CONTENT_TYPE"]:
        headers["content-type"] = environ["CONTENT_TYPE"]
    return headers


def _respond(answer: Answer, start_response: "StartResponse") -> Iterable[bytes]:
    body = answer.body
    start_response(answer.status_line, answer.header_list(len(body)))
    return [body]
