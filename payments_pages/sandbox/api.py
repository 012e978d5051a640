"""The six operations of the service's API (docs/service.md: Endpoints), and one of our own."""

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

from payments_pages.sandbox.payloads import Payload, created_page, envelope
from payments_pages.sandbox.payments import Payments
from payments_pages.sandbox.responses import JSON, Answer
from payments_pages.sandbox.state import SlugTakenError, State

__all__ = ["Api", "ApiRequest", "Call", "find_call"]

DEFAULT_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class Call:
    """An operation and its key: a slug, an id, a reference or nothing."""

    operation: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """The parts of a request that an operation reads."""

    authorization: str
    content_type: str
    query: str
    body: bytes


NO_CALL = Call("")


def find_call(method: str, segments: tuple[str, ...]) -> Call | None:
    """Find the operation of a path, given as its segments, each decoded once.

    A reference or slug is exactly one segment: what walks out of it is another path, and
    mostly none (docs/cases.md C11).
    """
    call = None
    match (method, *segments):
        case ("POST", "page"):
            call = Call("create")
        case ("GET", "page"):
            call = Call("list")
        case ("GET", "page", "check_slug_availability", slug) if slug:
            call = Call("check_slug", slug)
        case ("GET", "page", key) if key:
            call = Call("fetch", key)
        case ("PUT", "page", key) if key:
            call = Call("update", key)
        case ("GET", "transaction", "verify", reference) if reference:
            call = Call("verify", reference)
        case ("POST", "sandbox", "charge"):
            call = Call("charge")
    return call


class Refused(Exception):
    """A refusal with an error envelope (docs/service.md: its shape is only seen)."""

    def __init__(self, status: int, message: str, **extra: str) -> None:
        super().__init__(message)
        self.answer = Answer(status=status, payload={"status": False, "message": message, **extra})


def _invalid(message: str, code: str = "invalid_params") -> Refused:
    return Refused(400, message, type="validation_error", code=code)


class Api:
    """The operations, on a state."""

    def __init__(self, state: State, payments: Payments) -> None:
        self._state = state
        self._payments = payments

    def answer(self, call: Call | None, request: ApiRequest) -> Answer:
        """Answer a call; None is a path or method that the interface does not have."""
        try:
            self._authenticate(request.authorization)
            return self._perform(call or NO_CALL, request)
        except Refused as refusal:
            return refusal.answer

    def _authenticate(self, authorization: str) -> None:
        expected = f"Bearer {self._state.account.secret_key}".encode()
        # WSGI decodes the bytes of headers as Latin-1.
        if not hmac.compare_digest(authorization.encode("latin-1"), expected):
            raise Refused(401, "Invalid key")

    def _perform(self, call: Call, request: ApiRequest) -> Answer:
        match call.operation:
            case "create":
                answer = self._create(_read_json(request))
            case "list":
                answer = self._list(request.query)
            case "fetch":
                answer = _answer("Page retrieved", self._page(call.key))
            case "update":
                answer = self._update(call.key, request)
            case "check_slug":
                answer = self._check_slug(call.key)
            case "verify":
                answer = self._verify(call.key)
            case "charge":
                answer = self._charge(_read_json(request))
            case _:
                raise Refused(404, "There is no such endpoint")
        return answer

    def _create(self, body: Payload) -> Answer:
        values: Payload = {"name": _text(body, "name", required=True)}
        if "amount" in body:
            values["amount"] = _amount_text(body["amount"])
        if "redirect_url" in body:
            values["redirect_url"] = _web_address(body["redirect_url"])
        if "description" in body:
            values["description"] = _text(body, "description")
        if "slug" in body:
            values["slug"] = _text(body, "slug", required=True)
        for field, kind in (("metadata", dict), ("custom_fields", list)):
            if field in body:
                if not isinstance(body[field], kind):
                    raise _invalid(f"{field} has the wrong type")
                values[field] = body[field]
        try:
            page = self._state.add_page(**values)
        except SlugTakenError:
            raise _invalid("Slug is already taken", "slug_taken") from None
        return _answer("Page created", created_page(page))

    def _list(self, query: str) -> Answer:
        values = {name: texts[-1] for name, texts in parse_qs(query).items()}
        per_page = _count(values, "perPage", DEFAULT_PER_PAGE)
        number = _count(values, "page", 1)
        per_page = min(per_page, self._state.account.max_per_page or per_page)
        start, end = _moment(values, "from"), _moment(values, "to")
        pages = [
            page
            for page in self._state.pages()
            if (start is None or _created(page) >= start) and (end is None or _created(page) <= end)
        ]
        skipped = (number - 1) * per_page
        payload = envelope("Pages retrieved", pages[skipped : skipped + per_page])
        payload["meta"] = {
            "total": len(pages),
            "skipped": skipped,
            "perPage": per_page,
            "page": number,
            "pageCount": -(-len(pages) // per_page),
        }
        return Answer(payload=payload)

    def _update(self, key: str, request: ApiRequest) -> Answer:
        body = _read_json(request)
        page = self._page(key)
        # Required; blank only if the stored one is blank (our decision).
        named = _text(body, "name", required=body.get("name") != page["name"])
        values: Payload = {"name": named}
        if "amount" in body:
            amount = body["amount"]
            # JSON's true is not a number, but Python's is.
            if type(amount) is not int or amount < 0:
                raise _invalid("amount must be an integer of minor units")
            values["amount"] = amount
        if "description" in body:
            values["description"] = _text(body, "description")
        if "active" in body:
            if not isinstance(body["active"], bool):
                raise _invalid("active must be true or false")
            values["active"] = body["active"]
        return _answer("Page updated", self._state.change_page(page["id"], values))

    def _check_slug(self, slug: str) -> Answer:
        if self._state.page_by_slug(slug) is not None:
            raise Refused(self._state.account.slug_taken_status, "Slug is already taken")
        return Answer(payload={"status": True, "message": "Slug is available"})

    def _verify(self, reference: str) -> Answer:
        stored = self._state.find_transaction(reference)
        if stored is None:
            status = self._state.account.unknown_reference_status
            raise Refused(status, "Transaction reference not found")
        return _answer("Verification successful", stored.data)

    def _charge(self, body: Payload) -> Answer:
        """Charge a card again. The interface leaves this out; the words are the sandbox's own."""
        amount = body.get("amount")
        if type(amount) is not int or amount <= 0:
            raise _invalid("amount must be an integer of minor units")
        texts = {
            name: _text(body, name, required=True)
            for name in ("authorization_code", "currency", "reference")
        }
        code = texts.pop("authorization_code")
        try:
            return _answer("Charged", self._payments.charge(code, amount=amount, **texts))
        except ValueError as error:
            raise _invalid(str(error)) from None

    def _page(self, key: str) -> Payload:
        page = self._state.find_page(key)
        if page is None:
            raise Refused(404, "Page not found")
        return page


def _answer(message: str, data: object) -> Answer:
    return Answer(payload=envelope(message, data))


def _read_json(request: ApiRequest) -> Payload:
    if request.content_type.partition(";")[0].strip().lower() != JSON:
        raise _invalid(f"content-type must be {JSON}")
    try:
        body = json.loads(request.body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _invalid("The body is not JSON") from None
    if not isinstance(body, dict):
        raise _invalid("The body must be an object")
    return body


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _text(body: Mapping[str, object], field: str, *, required: bool = False) -> str:
    value = body.get(field)
    if required and value in (None, ""):
        raise _invalid(f"{field} is required", "missing_params")
    if not isinstance(value, str):
        raise _invalid(f"{field} must be a string")
    return value


def _amount_text(value: object) -> int:
    """Read the amount of a create: a string (docs/service.md: the amount is a string on create)."""
    if not isinstance(value, str) or not value.isascii() or not value.isdigit():
        raise _invalid("amount must be a string of digits")
    if len(value) > 19:
        raise _invalid("amount is too large")
    return int(value)


def _web_address(value: object) -> str:
    if isinstance(value, str):
        try:
            address = urlsplit(value)
        except ValueError:
            address = urlsplit("")
        if address.scheme in {"http", "https"} and address.hostname:
            return value
    raise _invalid("redirect_url must be a web address")


def _count(values: Mapping[str, str], name: str, default: int) -> int:
    text = values.get(name, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) == 0:
        raise _invalid(f"{name} must be a whole number above 0")
    return int(text)


def _moment(values: Mapping[str, str], name: str) -> datetime | None:
    """Read a time or a date; a date means its midnight, and no zone means UTC (our decision)."""
    if name not in values:
        return None
    try:
        moment = datetime.fromisoformat(values[name])
    except ValueError:
        raise _invalid(f"{name} must be an ISO 8601 time or date") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _created(page: Payload) -> datetime:
    return datetime.fromisoformat(page["createdAt"])
