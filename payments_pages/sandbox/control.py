"""The control API: JSON over HTTP, for demos and tests in other processes.

There is no password, so only programs on the same machine are let in: the peer and the Host
must be loopback, and nothing that a browser sends for a web page (an Origin) is served.
"""

import base64
import binascii
import ipaddress
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from werkzeug.wrappers import Request, Response

from payments_pages.sandbox.checkouts import Starts
from payments_pages.sandbox.faults import Fault, Faults
from payments_pages.sandbox.payloads import Payload, encode, transaction_payload
from payments_pages.sandbox.payments import Payments
from payments_pages.sandbox.state import RecordedRequest, State, StoredTransaction
from payments_pages.sandbox.webhooks import Webhooks

__all__ = ["Control", "add_transaction", "is_loopback", "is_ours"]

PAYER_FIELDS = ("email", "first_name", "last_name", "phone")
PAYMENT_FIELDS = (*PAYER_FIELDS, "status", "reference", "amount", "late")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The parts of a request that an action reads; `key` is the last segment of the path."""

    args: Mapping[str, str]
    body: Payload
    key: str


def is_loopback(host: str) -> bool:
    """Tell whether a host name or IP address is this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def add_transaction(state: State, reference: str, fields: Mapping[str, Any]) -> Payload:
    """Record a transaction that no page led to; fields replace those of a usual success.

    Raise `ValueError` if the reference is there already.
    """
    with state.lock:
        if state.find_transaction(reference) is not None:
            raise ValueError(f"The reference {reference!r} is there already.")
        data = transaction_payload(
            reference,
            transaction_id=state.next_transaction_id(),
            domain=state.account.domain,
        )
        data |= {**fields, "reference": reference}
        state.put_transaction(StoredTransaction(data=data))
        return data


class Control:
    """The control API of a sandbox."""

    def __init__(
        self,
        state: State,
        faults: Faults,
        webhooks: Webhooks,
        payments: Payments,
        starts: Starts,
    ) -> None:
        self._state = state
        self._faults = faults
        self._webhooks = webhooks
        self._payments = payments
        self._starts = starts
        # By method, first segment and how many segments there are.
        self._actions: Mapping[tuple[object, ...], Callable[[_Asked], object]] = {
            ("GET", "state", 1): self._show,
            ("GET", "requests", 1): self._list_requests,
            ("GET", "calls", 1): self._count_calls,
            ("POST", "account", 1): self._set_account,
            ("POST", "pages", 1): self._add_page,
            ("POST", "pages", 2): self._change_page,
            ("DELETE", "pages", 2): self._forget_page,
            ("POST", "pay", 1): self._pay,
            ("POST", "checkouts", 1): self._start_checkout,
            ("POST", "checkouts", 2): self._end_checkout,
            ("POST", "transactions", 1): self._add_transaction,
            ("POST", "transactions", 2): self._change_transaction,
            ("POST", "faults", 1): self._add_fault,
            ("DELETE", "faults", 1): self._clear_faults,
            ("POST", "webhooks", 1): self._send_webhook,
            ("GET", "webhooks", 1): self._list_webhooks,
            ("POST", "reset", 1): self._reset,
        }

    def respond(self, request: Request, segments: tuple[str, ...]) -> Response:
        """Answer a request; 403 for whom it is not meant, 400 with `error` for a wrong one."""
        if not is_ours(request):
            return _json({"error": "Only programs on this machine may steer the sandbox."}, 403)
        action = self._actions.get((request.method, *segments[:1], len(segments)))
        if action is None:
            return _json({"error": "There is no such control."}, 404)
        try:
            asked = _Asked(args=request.args, body=_read(request), key=segments[-1])
            return _json(action(asked))
        except (KeyError, TypeError, ValueError) as error:
            return _json({"error": str(error.args[0]) if error.args else "Wrong request."}, 400)

    def _show(self, _asked: _Asked) -> Payload:
        return {
            "account": self._state.account.public(),
            "domain": self._state.account.domain,
            "public_key": self._state.account.browser_key,
            "pages": self._state.pages(),
            "transactions": [stored.data for stored in self._state.transactions()],
            "faults": [_fault_json(fault) for fault in self._faults.active()],
        }

    def _set_account(self, asked: _Asked) -> Payload:
        return self._state.set_account(asked.body).public()

    # Pages and payments

    def _add_page(self, asked: _Asked) -> Payload:
        return self._state.add_page(**asked.body)

    def _change_page(self, asked: _Asked) -> Payload:
        return self._state.change_page(self._page(asked.key)["id"], asked.body)

    def _forget_page(self, asked: _Asked) -> Payload:
        return self._state.forget_page(self._page(asked.key)["id"])

    def _page(self, key: str) -> Payload:
        page = self._state.find_page(key)
        if page is None:
            raise ValueError(f"There is no page {key!r}.")
        return page

    def _pay(self, asked: _Asked) -> Payload:
        page = self._page(str(asked.body.pop("page")))
        named = {name: asked.body.pop(name) for name in PAYMENT_FIELDS if name in asked.body}
        return self._payments.pay(page, **named, overrides=asked.body)

    def _start_checkout(self, asked: _Asked) -> Payload:
        return self._starts.start(**asked.body)

    def _end_checkout(self, asked: _Asked) -> Payload:
        named = {name: asked.body.pop(name) for name in ("status", "late") if name in asked.body}
        return self._payments.end(asked.key, **named, overrides=asked.body)

    def _add_transaction(self, asked: _Asked) -> Payload:
        return add_transaction(self._state, str(asked.body.pop("reference")), asked.body)

    def _change_transaction(self, asked: _Asked) -> Payload:
        return self._state.change_transaction(asked.key, asked.body)

    # Faults

    def _add_fault(self, asked: _Asked) -> Payload:
        return _fault_json(self._faults.add(**_fault_options(asked.body)))

    def _clear_faults(self, _asked: _Asked) -> list[object]:
        self._faults.clear()
        return []

    # What came and went

    def _list_requests(self, _asked: _Asked) -> list[Payload]:
        return [_request_json(request) for request in self._state.requests()]

    def _count_calls(self, asked: _Asked) -> Payload:
        args = asked.args
        if "path" in args:
            return {"calls": self._state.calls(args.get("method", "GET"), args["path"])}
        return {"calls": self._state.operation_calls(args["operation"], args.get("reference"))}

    def _list_webhooks(self, _asked: _Asked) -> list[Payload]:
        return [asdict(delivery) for delivery in self._webhooks.deliveries]

    def _send_webhook(self, asked: _Asked) -> Payload:
        options = asked.body
        url = options.pop("url", "") or self._state.account.webhook_url
        if not url:
            raise ValueError("Say a url, or set the account's webhook_url.")
        if isinstance(options.get("body"), str):
            options["body"] = options["body"].encode()
        reference = str(options.pop("reference"))
        return {"statuses": self._webhooks.send(url, reference, **options)}

    def _reset(self, _asked: _Asked) -> Payload:
        self._faults.clear()
        self._webhooks.clear()
        self._state.reset()
        return {}


def is_ours(request: Request) -> bool:
    """Tell whether a request comes from this machine, and not from a web page of elsewhere."""
    return (
        is_loopback(request.remote_addr or "")
        and is_loopback(_host_name(request.headers.get("Host", "")))
        and "Origin" not in request.headers
    )


def _host_name(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _read(request: Request) -> Payload:
    body = json.loads(request.get_data() or b"{}")
    if not isinstance(body, dict):
        raise ValueError("Send a JSON object.")  # noqa: TRY004 - one error type for a wrong body
    return body


def _json(payload: object, status: int = 200) -> Response:
    return Response(encode(payload), status=status, content_type="application/json")


def _fault_options(body: Payload) -> Payload:
    """Read a fault's options; bytes that are not text come as `body_base64`."""
    if "body_base64" in body:
        try:
            body["body"] = base64.b64decode(body.pop("body_base64"), validate=True)
        except binascii.Error:
            raise ValueError("body_base64 is not base64.") from None
    return body


def _fault_json(fault: Fault) -> Payload:
    options = {
        name: value.decode("latin-1") if isinstance(value, bytes) else value
        for name, value in fault.options.items()
    }
    return {
        "kind": fault.kind,
        "operation": fault.operation,
        "reference": fault.reference,
        "times": fault.times,
        "used": fault.used,
        **options,
    }


def _request_json(request: RecordedRequest) -> Payload:
    return {**asdict(request), "body": request.body.decode("utf-8", "replace")}
