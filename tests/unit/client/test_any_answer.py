"""Any answer whatever gives a resource or an error of ours, for each of the six operations."""

import datetime as dt
import json
from typing import Any

import pytest
import responses
from hypothesis import given, settings
from hypothesis import strategies as st

from payments_pages.client import Client, PageList, PageResource, TransactionResource
from payments_pages.client import transport as transport_module
from payments_pages.exceptions import ServiceError
from tests.support.scale import count
from tests.unit.client.operations import BASE, KEY, OPERATIONS, answer_all
from tests.unit.client.payloads import ANY_JSON, page, transaction

GIVEN = {
    "verify": TransactionResource,
    "fetch": PageResource,
    "create": PageResource,
    "update": PageResource,
    "list": PageList,
    "iterate": list,
    "check": bool,
}

# Near misses: what the interface shows, with any of its fields odd.
NEARLY_A_TRANSACTION = st.fixed_dictionaries(
    {"reference": st.just("PPG-1001"), "status": st.sampled_from(["success", "failed"]) | ANY_JSON},
    optional=dict.fromkeys(set(transaction()) - {"reference", "status"}, ANY_JSON),
)
NEARLY_A_PAGE = st.fixed_dictionaries(
    {"id": st.integers(1, 99) | ANY_JSON, "slug": st.just("tea-box") | ANY_JSON},
    optional=dict.fromkeys(set(page()) - {"id", "slug"} | {"amount", "metadata"}, ANY_JSON),
)
META = ANY_JSON | st.dictionaries(st.sampled_from(["total", "perPage", "page"]), ANY_JSON)
DATA = NEARLY_A_TRANSACTION | NEARLY_A_PAGE | st.lists(NEARLY_A_PAGE | ANY_JSON) | ANY_JSON
DOCUMENTS = (
    st.fixed_dictionaries(
        {"status": st.just(True) | st.just(False) | ANY_JSON},
        optional={"data": DATA, "message": ANY_JSON, "meta": META, "code": ANY_JSON},
    )
    | ANY_JSON
)
BODIES = DOCUMENTS.map(lambda document: json.dumps(document, default=str).encode()) | st.binary(
    max_size=200
)
STATUSES = st.sampled_from([200, 200, 200, 201, 204, 301, 400, 401, 404, 409, 422, 429, 500, 503])
HEADERS = st.sampled_from(["", "30", "-1", "soon", "9" * 50, "Wed, 21 Oct 2099 07:28:00 GMT"])


@pytest.mark.slow
@pytest.mark.timeout(1800)  # 20,000 examples take minutes
@settings(max_examples=count(500, 20_000), deadline=None)
@given(BODIES, STATUSES, HEADERS)
def test_any_answer_gives_a_resource_or_an_error_of_ours(
    body: bytes, status: int, retry_after: str
) -> None:
    client = Client(secret_key=KEY, base_url=BASE)
    with (
        pytest.MonkeyPatch.context() as patch,
        responses.RequestsMock(assert_all_requests_are_fired=False) as wire,
    ):
        patch.setattr(transport_module, "PAUSES", (0, 0))
        answer_all(wire, status=status, body=body, headers={"Retry-After": retry_after})
        for operation, call in OPERATIONS.items():
            try:
                found = call(client)
            except ServiceError as error:
                assert_typed(error)
                continue
            assert isinstance(found, GIVEN[operation])
            assert 200 <= status < 300 or operation == "check"


def assert_typed(error: ServiceError) -> None:
    assert type(error) is not ServiceError, "each failure has a class of its own"
    assert error.retry_after is None or 0 <= error.retry_after <= 3600
    assert error.__context__ is None
    assert len(str(error)) < 400


@pytest.mark.parametrize("field", ["log", "authorization", "customer", "metadata"])
@pytest.mark.parametrize("empty", [None, {}, [], "", 0, ...])
def test_an_object_that_is_null_or_empty_loses_no_payment(field: str, empty: Any) -> None:
    payload = transaction(**{field: empty})
    with responses.RequestsMock() as wire:
        wire.get(
            f"{BASE}/transaction/verify/PPG-1001",
            json={"status": True, "message": "As asked", "data": payload},
        )
        found = Client(secret_key=KEY, base_url=BASE).verify_transaction("PPG-1001")
    assert (found.status, found.amount) == ("success", 10000)
    assert isinstance(found.paid_at, dt.datetime)
