"""Turn a signed event into a reference, and take that through the path.

The event is a hint: nothing in it but the reference is believed, and the service is asked.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from payments_pages.choices import Door
from payments_pages.confirmation import inbox
from payments_pages.confirmation.confirm import Confirmation, confirm_payment
from payments_pages.exceptions import InvalidEvent, InvalidReference
from payments_pages.references import check_reference, reference_key

__all__ = ["take_event"]


def take_event(body: bytes) -> Confirmation | None:
    """Confirm the reference that a webhook's body names; None for an event that is not ours.

    `charge.success` names `data.reference`, a `refund.…` event `data.transaction_reference`;
    the refund asks again about what is settled. Another `charge.…` event asks again about the
    reference it names, if it names one. Of every other event a reference is taken only if this
    site knows it already: transfers and events of other sites on the same account are none of
    our business (case C34).

    Raise `InvalidEvent` for what is not an event, or names no usable reference where it must.
    """
    event, data = _read(body)
    if event.startswith("charge."):
        reference = next(_references(data, "reference"), None)
        if reference is None and event != "charge.success":
            return None
        success = event == "charge.success"
        return _confirm(reference, refresh=not success, signed_success=success)
    if event.startswith("refund."):
        reference = next(_references(data, "transaction_reference", "reference"), None)
        return _confirm(reference, refresh=True)
    for reference in _references(data, "transaction_reference", "reference"):
        if _is_known(reference):
            return _confirm(reference, refresh=True)
    return None


def _confirm(reference: str | None, *, refresh: bool, signed_success: bool = False) -> Confirmation:
    if reference is None:
        raise InvalidEvent("The event names no reference.")
    try:
        return confirm_payment(
            reference,
            door=Door.WEBHOOK,
            refresh=refresh,
            vouched=True,
            signed_success=signed_success,
        )
    except InvalidReference as error:
        raise InvalidEvent("The event names no usable reference.") from error


def _read(body: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidEvent("The body is not JSON.") from error
    event = payload.get("event") if isinstance(payload, dict) else None
    if not isinstance(event, str):
        raise InvalidEvent("The body is not an event.")
    data = payload.get("data")
    return event, data if isinstance(data, dict) else {}


def _references(data: Mapping[str, Any], *names: str) -> Iterator[str]:
    """Yield what may be a transaction's reference; disputes nest it in `transaction`."""
    nested = data.get("transaction")
    places = [data.get(name) for name in names]
    if isinstance(nested, dict):
        places.append(nested.get("reference"))
    yield from (place for place in places if isinstance(place, str) and place)


def _is_known(reference: str) -> bool:
    try:
        key = reference_key(check_reference(reference))
    except InvalidReference:
        return False
    row = inbox.find(key)
    return row is not None and row.reference == reference
