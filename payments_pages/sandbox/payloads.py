"""The service's JSON: pages, transactions and the envelope around them.

Amounts are integers of minor units (docs/service.md: Units). Field names are the interface's;
where it is silent the docstring says "only seen" (what APIs of this shape are seen to do)
or "our decision".
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

__all__ = [
    "CREATED_PAGE_FIELDS",
    "Payload",
    "created_page",
    "encode",
    "envelope",
    "iso",
    "page_payload",
    "transaction_payload",
]

Payload: TypeAlias = dict[str, Any]

CREATED_PAGE_FIELDS = (
    "id",
    "name",
    "description",
    "domain",
    "slug",
    "currency",
    "active",
    "createdAt",
    "updatedAt",
)
"""What `data` holds after a create, and no more (docs/service.md: Payment page)."""


def iso(moment: datetime) -> str:
    """Write an aware time as the interface does: `2024-03-05T12:30:56.000Z`."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def encode(payload: object) -> bytes:
    """Write JSON as UTF-8 bytes; a lone surrogate, which UTF-8 has no form for, is escaped."""
    try:
        return json.dumps(payload, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(payload).encode()


def envelope(message: str, data: object) -> Payload:
    """Wrap what a call that worked returns (docs/service.md: Response envelope)."""
    return {"status": True, "message": message, "data": data}


def page_payload(
    *,
    page_id: int,
    name: str,
    slug: str,
    currency: str,
    domain: str,
    amount: int | None = None,
    description: str = "",
    redirect_url: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    custom_fields: list[Any] | None = None,
    active: bool = True,
) -> Payload:
    """Build a page as list, fetch and update return it.

    The interface shows only what a create returns; that lists and fetches also carry amount,
    redirect_url, custom_fields and metadata, null when unset, is only seen.
    """
    now = iso(datetime.now(UTC))
    return {
        "id": page_id,
        "name": name,
        "description": description,
        "domain": domain,
        "slug": slug,
        "currency": currency,
        "amount": amount,
        "active": active,
        "redirect_url": redirect_url,
        "custom_fields": custom_fields,
        "metadata": None if metadata is None else dict(metadata),
        "createdAt": now,
        "updatedAt": now,
    }


def created_page(page: Payload) -> Payload:
    """Cut a page down to what a create answers."""
    return {field: page[field] for field in CREATED_PAGE_FIELDS}


def transaction_payload(
    reference: str,
    *,
    transaction_id: int,
    domain: str,
    status: str = "success",
    amount: int = 10000,
    currency: str = "ILS",
    email: str = "payer@example.test",
    first_name: str | None = None,
    last_name: str | None = None,
    phone: str | None = None,
    ip_address: str = "203.0.113.7",
    metadata: object = "",
) -> Payload:
    """Build a whole transaction (docs/service.md: Transaction), paid a moment ago.

    A fee of one percent is our decision. So is what an unpaid one lacks: `paid_at` and `fees`
    are null, and the card is there only if one was tried (docs/service.md, only seen: either may be absent).
    """
    paid, tried = status == "success", status in {"success", "failed", "reversed"}
    now = datetime.now(UTC)
    return {
        "id": transaction_id,
        "domain": domain,
        "status": status,
        "reference": reference,
        "amount": amount,
        "message": _MESSAGES.get(status, "In progress"),
        "gateway_response": _GATEWAY_RESPONSES.get(status, "Pending"),
        "paid_at": iso(now) if paid or status == "reversed" else None,
        "created_at": iso(now),
        "channel": "card",
        "currency": currency,
        "ip_address": ip_address,
        "metadata": metadata,
        "fees": amount // 100 if paid or status == "reversed" else None,
        "log": _log(now, status),
        "authorization": _authorization(email, reusable=paid) if tried else {},
        "customer": _customer(email, first_name, last_name, phone),
    }


_MESSAGES = {
    "success": "Approval",
    "failed": "Refused by the card's bank",
    "abandoned": "The payer left",
    "reversed": "Returned to the payer",
}
_GATEWAY_RESPONSES = {
    "success": "Successful",
    "failed": "Declined",
    "abandoned": "Not completed",
    "reversed": "Reversed",
}


def _log(now: datetime, status: str) -> Payload:
    history = [{"type": "action", "message": "Card details sent", "time": 5}]
    if status == "success":
        history.append({"type": "success", "message": "Card accepted", "time": 6})
    return {
        "start_time": int(now.timestamp()) - 6,
        "time_spent": 6,
        "attempts": 1,
        "errors": 1 if status == "failed" else 0,
        "success": status == "success",
        "mobile": False,
        "input": [],
        "history": history,
    }


def _authorization(email: str, *, reusable: bool) -> Payload:
    mark = _mark(email)
    return {
        "authorization_code": f"AUTH_{mark}",
        "bin": "408112",
        "last4": "1000",
        "exp_month": "12",
        "exp_year": "2035",
        "channel": "card",
        "card_type": "visa DEBIT",
        "bank": "Sandbox Bank",
        "country_code": "PS",
        "brand": "visa",
        "reusable": reusable,
        "signature": f"SIG_{mark}",
        "account_name": None,
    }


def _customer(
    email: str, first_name: str | None, last_name: str | None, phone: str | None
) -> Payload:
    mark = _mark(email)
    return {
        "id": int(mark, 16) % 10**9,
        "first_name": first_name,
        "last_name": last_name,
        "email": email,
        "customer_code": f"CUS_{mark}",
        "phone": phone,
        "metadata": None,
        "risk_action": "default",
    }


def _mark(email: str) -> str:
    """Give one payer the same codes each time, as the service does for a returning customer."""
    return hashlib.sha256(email.encode("utf-8", "surrogatepass")).hexdigest()[:12]
