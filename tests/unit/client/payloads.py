"""Build the service's JSON as the interface shows it, and every other JSON."""

import json
from typing import Any

from hypothesis import strategies as st

from payments_pages.client import TransactionResource
from payments_pages.client.payloads import MAX_DEPTH

CODE = "AUTH_LEAKCODE1"


def transaction(**changes: Any) -> dict[str, Any]:
    """Build `data` of a verify as the interface shows it; `...` leaves a field out."""
    data: dict[str, Any] = {
        "id": 690075001,
        "domain": "test",
        "status": "success",
        "reference": "PPG-1001",
        "amount": 10000,
        "message": "Approval",
        "gateway_response": "Successful",
        "paid_at": "2024-03-05T12:30:56.000Z",
        "created_at": "2024-03-05T12:26:44.000Z",
        "channel": "card",
        "currency": "ILS",
        "ip_address": "203.0.113.7",
        "metadata": "",
        "fees": 100,
        "log": {"start_time": 1709641851, "history": [{"type": "action", "time": 2}]},
        "authorization": {"authorization_code": CODE, "last4": "1000", "reusable": True},
        "customer": {"id": 24259001, "first_name": None, "email": "payer@example.test"},
    }
    return {key: value for key, value in (data | changes).items() if value is not ...}


def page(**changes: Any) -> dict[str, Any]:
    """Build `data` of a create as the interface shows it; `...` leaves a field out."""
    data: dict[str, Any] = {
        "id": 18,
        "name": "Tea box",
        "description": "",
        "domain": "test",
        "slug": "tea-box",
        "currency": "ILS",
        "active": True,
        "createdAt": "2024-03-05T12:26:44.000Z",
        "updatedAt": "2024-03-05T12:26:44.000Z",
    }
    return {key: value for key, value in (data | changes).items() if value is not ...}


def nested(levels: int, innermost: Any = 1) -> Any:
    value = innermost
    for _level in range(levels):
        value = {"in": value}
    return value


def depth_of(value: Any) -> int:
    boxes = [value]
    depth = 0
    while boxes := [box for box in boxes if isinstance(box, dict | list)]:
        depth += 1
        boxes = [item for box in boxes for item in (box.values() if isinstance(box, dict) else box)]
    return depth


def scalars_of(value: Any) -> list[Any]:
    found, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list):
            stack += item
        else:
            found.append(item)
    return found


def assert_storable(value: Any) -> None:
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == value
    assert depth_of(value) <= MAX_DEPTH
    for item in scalars_of(value):
        assert not isinstance(item, str) or "\x00" not in item
        assert type(item) is not int or -(2**63) <= item < 2**63


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.decimals(allow_nan=True)
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
    | st.sampled_from(["success", "2024-03-05", "10000", '{"authorization_code":"AUTH_x1"}']),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.text(max_size=8) | st.sampled_from(["authorization_code", "email", "id", "slug"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


def read(**changes: Any) -> TransactionResource:
    return TransactionResource.from_payload(transaction(**changes))
