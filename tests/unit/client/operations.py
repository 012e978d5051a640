"""The six operations by name, their addresses, and answers for them."""

import json
from collections.abc import Callable
from typing import Any

import responses

from payments_pages.client import Client

KEY = "sk_test_LEAKME0001"
BASE = "https://service.test/api"
VERIFY = f"{BASE}/transaction/verify/PPG-1001"
PAGE = f"{BASE}/page"
PAGE_18 = f"{BASE}/page/18"
SLUG = f"{BASE}/page/check_slug_availability/tea-box"

FALSE = {"status": False, "message": "The service's own words"}


def good(data: Any, **more: Any) -> dict[str, Any]:
    return {"status": True, "message": "As asked", "data": data, **more}


def sent(wire: responses.RequestsMock) -> Any:
    body = wire.calls[-1].request.body
    assert body is not None
    return json.loads(body)


OPERATIONS: dict[str, Callable[[Client], Any]] = {
    "verify": lambda client: client.verify_transaction("PPG-1001"),
    "fetch": lambda client: client.fetch_page(18),
    "list": lambda client: client.list_pages(),
    "check": lambda client: client.check_slug("tea-box"),
    "create": lambda client: client.create_page(name="Tea box"),
    "update": lambda client: client.update_page(18, name="Tea box"),
}


def answer_all(wire: responses.RequestsMock, **answer: Any) -> None:
    for method, url in (
        ("GET", VERIFY),
        ("GET", PAGE_18),
        ("PUT", PAGE_18),
        ("GET", PAGE),
        ("POST", PAGE),
        ("GET", SLUG),
    ):
        wire.add(method, url, **answer)
