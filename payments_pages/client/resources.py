"""The service's pages and transactions, as frozen dataclasses (docs/service.md: Resources and their fields).

Reading is tolerant: a value that does not fit its field is kept as text in `unreadable`, and the
field is empty, so that no payment is lost. Amounts are integers of minor units.
"""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, Self

from payments_pages.card_codes import CardCode
from payments_pages.client.fields import FieldReader, read_integer
from payments_pages.client.payloads import clean_text, json_text, storable
from payments_pages.exceptions import InvalidResponse, UnreadablePage

__all__ = [
    "MAX_LENGTHS",
    "PageList",
    "PageResource",
    "SkippedPage",
    "TransactionResource",
    "read_metadata",
]

_SHOWN_NAME: Final = 60
"""Characters of a page's name that an error quotes."""

MAX_LENGTHS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "reference": 128,
        "status": 64,
        "domain": 16,
        "currency": 16,
        "channel": 64,
        "ip_address": 64,
        "email": 320,
        "amount_text": 64,
        "message": 10_000,
        "gateway_response": 10_000,
        "name": 255,
        "slug": 255,
        "description": 10_000,
        "redirect_url": 2_000,
    }
)
"""Longest text of each field, in characters; the columns of the models hold as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResource:
    """One hosted page as the service describes it.

    - `amount` is in minor units. None: the payer chooses, or the response did not say.
    - `present`: names of the fields that the response had. (The response to a create has neither
      amount nor redirect_url; docs/service.md: Payment page.)
    - `unreadable`: by field, as text, the values that did not fit.
    - `whole_name`: the name exactly as it came, not cut; None if it is no text.
    """

    id: int
    name: str
    description: str
    slug: str
    domain: str
    currency: str
    amount: int | None
    active: bool
    redirect_url: str
    metadata: Any = field(repr=False)
    custom_fields: tuple[dict[str, Any], ...]
    created_at: dt.datetime | None
    updated_at: dt.datetime | None
    whole_name: str | None = field(default=None, repr=False)
    present: frozenset[str] = field(default=frozenset(), repr=False)
    unreadable: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        """Read a page; raise `UnreadablePage` without integer `id`, `slug`, or a price to sell at.

        An amount that is there and cannot be read is refused (our decision): None would mean
        that any payment is enough. So is one of zero or less: no payment could be checked by it.
        """
        if not isinstance(payload, Mapping):
            raise UnreadablePage("A page in the answer is not an object.")
        read = FieldReader(payload)
        number, slug = payload.get("id"), str(payload.get("slug"))
        if type(number) is not int or read_integer(number) is None:
            _refuse(payload, "has no integer id")
        if not _is_key(payload.get("slug"), MAX_LENGTHS["slug"]):
            _refuse(payload, "has no usable slug")
        amount = read_integer(payload.get("amount"))
        if amount is None and payload.get("amount") not in (None, ""):
            _refuse(payload, "has an amount that cannot be read")
        if amount is not None and amount <= 0:
            _refuse(payload, f"costs {amount}, and nothing can be sold at that price")
        name = payload.get("name")
        fields = payload.get("custom_fields")
        fields = storable(fields) if isinstance(fields, list) else []
        return cls(
            id=number,
            name=read.text("name", MAX_LENGTHS["name"]),
            description=read.text("description", MAX_LENGTHS["description"]),
            slug=slug,
            domain=read.word("domain", MAX_LENGTHS["domain"]),
            currency=read.word("currency", MAX_LENGTHS["currency"]),
            amount=amount,
            # A page is active as created (docs/service.md: States); some back ends write 1 for true.
            active=_is_on(payload.get("active", True)),
            redirect_url=read.text("redirect_url", MAX_LENGTHS["redirect_url"]),
            metadata=read.json("metadata"),
            custom_fields=tuple(item for item in fields if isinstance(item, dict)),
            created_at=read.datetime("createdAt", "created_at"),
            updated_at=read.datetime("updatedAt", "updated_at"),
            whole_name=name if type(name) is str else None,
            present=frozenset(str(name) for name in payload),
            unreadable=read.unreadable,
        )


class SkippedPage(NamedTuple):
    """A listed page that was left out, and why; `number` is None where the list has none."""

    number: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageList:
    """One response of the list: its pages, and the paging that it reports (None: not reported).

    `skipped` has the items that cannot be read as a page.
    """

    items: tuple[PageResource, ...]
    total: int | None = None
    per_page: int | None = None
    page: int | None = None
    skipped: tuple[SkippedPage, ...] = ()

    @classmethod
    def from_payload(cls, items: Sequence[Any], meta: Any = None) -> Self:
        """Read the items; `meta` may be missing, or hold its numbers as text (docs/service.md, only seen)."""
        pages: list[PageResource] = []
        skipped: list[SkippedPage] = []
        for item in items:
            try:
                pages.append(PageResource.from_payload(item))
            except UnreadablePage as error:
                skipped.append(SkippedPage(error.number, str(error)))
        numbers = meta if isinstance(meta, Mapping) else {}
        return cls(
            items=tuple(pages),
            total=read_integer(numbers.get("total")),
            per_page=read_integer(numbers.get("perPage")),
            page=read_integer(numbers.get("page")),
            skipped=tuple(skipped),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionResource:
    """One transaction as verify describes it (docs/service.md: Transaction).

    `status` is as it came; only exactly `"success"` is a success. `amount` and `fees` are in minor
    units of `currency`. An amount that cannot be read is None, and `amount_text` then has its text.
    No repr has the payer's data. `card_code` alone has the reusable card code, and hides it. It is
    None unless the service says that this card, and nothing else than a card, may be charged again.
    """

    reference: str
    id: int | None
    domain: str
    status: str
    amount: int | None
    amount_text: str
    currency: str
    message: str = field(repr=False)
    gateway_response: str = field(repr=False)
    paid_at: dt.datetime | None
    created_at: dt.datetime | None
    channel: str
    ip_address: str = field(repr=False)
    fees: int | None
    metadata: Any = field(repr=False)
    log: dict[str, Any] = field(repr=False)
    authorization: dict[str, Any] = field(repr=False)
    customer: dict[str, Any] = field(repr=False)
    customer_email: str = field(repr=False)
    unreadable: dict[str, str] = field(default_factory=dict, repr=False)
    card_code: CardCode | None = field(default=None, repr=False)

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        """Read `data` of a verify; raise `InvalidResponse` without text reference and status.

        The reference is kept exactly as it came; one that cannot be stored exactly is refused.
        """
        if not isinstance(payload, Mapping):
            raise InvalidResponse("The transaction in the answer is not an object.")
        if not _is_key(payload.get("reference"), MAX_LENGTHS["reference"]):
            raise InvalidResponse("The transaction in the answer has no usable reference.")
        if type(payload.get("status")) is not str:
            raise InvalidResponse("The transaction in the answer has no status.")
        read = FieldReader(payload, _card_codes(payload.get("authorization")))
        customer = read.mapping("customer")
        email = customer.get("email")
        return cls(
            reference=payload["reference"],
            id=read.integer("id"),
            domain=read.word("domain", MAX_LENGTHS["domain"]),
            status=read.word("status", MAX_LENGTHS["status"]),
            amount=read.integer("amount"),
            amount_text=_amount_text(payload),
            currency=read.word("currency", MAX_LENGTHS["currency"]),
            message=read.text("message", MAX_LENGTHS["message"]),
            gateway_response=read.text("gateway_response", MAX_LENGTHS["gateway_response"]),
            paid_at=read.datetime("paid_at", "paidAt"),
            created_at=read.datetime("created_at", "createdAt", "transaction_date"),
            channel=read.text("channel", MAX_LENGTHS["channel"]),
            ip_address=read.text("ip_address", MAX_LENGTHS["ip_address"]),
            fees=read.integer("fees"),
            metadata=read.json("metadata"),
            log=read.mapping("log"),
            authorization=read.mapping("authorization"),
            customer=customer,
            customer_email=email[: MAX_LENGTHS["email"]] if isinstance(email, str) else "",
            unreadable=read.unreadable,
            card_code=_reusable_code(payload.get("authorization")),
        )

    def in_ascii(self) -> Self:
        """Return a copy that a column of any character set can hold.

        In a text "?" stands for each other character, so that it does not grow; `unreadable` keeps
        the whole text, with the escapes that JSON has for other characters.
        """
        changes: dict[str, Any] = {}
        unreadable = dict(self.unreadable)
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, str) and not value.isascii() and item.name != "reference":
                changes[item.name] = value.encode("ascii", "replace").decode()
                unreadable[item.name] = value
            elif isinstance(value, dict | list):
                changes[item.name] = _escaped(value)
        return replace(self, **{**changes, "unreadable": _escaped(unreadable)})


def read_metadata(value: Any) -> dict[str, Any]:
    """Return stored metadata as a dict; `{}` if it is no JSON object.

    JSON text is decoded, twice at most (docs/cases.md C37: some clients encode it twice).
    """
    for _encoding in range(2):
        if not isinstance(value, str):
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return storable(value) if isinstance(value, dict) else {}


def _refuse(payload: Mapping[str, Any], why: str) -> NoReturn:
    """Raise `UnreadablePage` that names the page as far as the answer does."""
    number, name = read_integer(payload.get("id")), payload.get("name") or payload.get("slug")
    words = ["A page" if number is None else f"Page {number}"]
    if isinstance(name, str) and (shown := " ".join(clean_text(name[:_SHOWN_NAME]).split())):
        words.append(f"“{shown}”")
    raise UnreadablePage(f"{' '.join(words)} {why}.", number=number)


def _is_key(value: Any, limit: int) -> bool:
    """Tell whether a text can be a key as it is: not blank, storable, short enough."""
    return (
        type(value) is str
        and bool(value.strip())
        and len(value) <= limit
        and clean_text(value) == value
    )


def _is_on(flag: Any) -> bool:
    """Tell whether a switch is on: true, or the number 1; a signalling NaN cannot be compared."""
    return flag is True or (type(flag) is int and flag == 1)


def _amount_text(payload: Mapping[str, Any]) -> str:
    """Show the amount that could not be read; `""` when it was read or is not there."""
    if "amount" not in payload or read_integer(payload["amount"]) is not None:
        return ""
    value = storable(payload["amount"])
    text = value if isinstance(value, str) and value else json_text(value)
    return text[: MAX_LENGTHS["amount_text"]]


def _escaped(value: Any) -> Any:
    """Write the texts of a JSON value in ASCII, its depth having been bounded before."""
    if isinstance(value, str):
        return value.encode("ascii", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escaped(name): _escaped(item) for name, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def _reusable_code(authorization: Any) -> CardCode | None:
    """Read the code of a card that may be charged again (docs/service.md: Rules of verify).

    The words must be exactly these (our decision): `"true"` is not true, and `"Card"` may be
    something else.
    """
    if not isinstance(authorization, Mapping) or authorization.get("channel") != "card":
        return None
    if authorization.get("reusable") is not True:
        return None
    return CardCode.of(authorization.get("authorization_code"))


def _card_codes(authorization: Any) -> tuple[str, ...]:
    """Find the reusable card code, so that it can be taken out of every other text too."""
    if not isinstance(authorization, Mapping):
        return ()
    code = authorization.get("authorization_code")
    # A shorter text would be found inside ordinary words.
    return (code,) if isinstance(code, str) and len(code) >= 8 else ()
