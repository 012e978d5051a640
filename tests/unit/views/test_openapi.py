"""The OpenAPI description and the doors say the same: each documented status is really answered."""

import json
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import yaml
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from jsonschema import Draft202012Validator

from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.views.confirm import LIMIT as CONFIRM_LIMIT
from payments_pages.views.confirm import STATUSES
from payments_pages.views.rendering import PAGES, RETURNED
from payments_pages.views.webhook import LIMIT as WEBHOOK_LIMIT
from payments_pages.views.webhook import RETRY_OUTCOMES
from tests.support.door_behaviour import pay
from tests.support.webhook_signing import HEADER, SECRET, event, post

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("tea_box")]

DESCRIPTION: dict[str, Any] = yaml.safe_load(
    (Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml").read_text()
)
PATHS = DESCRIPTION["paths"]
METHODS = ("get", "post", "put", "delete", "patch")


@pytest.fixture(autouse=True)
def open_webhook(sandbox: Sandbox, configure: Any) -> None:
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))


def follow(node: dict[str, Any]) -> dict[str, Any]:
    """Return what a node refers to."""
    while "$ref" in node:
        found: Any = DESCRIPTION
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def operations() -> dict[str, dict[str, Any]]:
    return {
        operation["operationId"]: operation
        for path in PATHS.values()
        for method, operation in path.items()
        if method in METHODS
    }


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    """Check against a schema that refers to others of the description."""
    whole = {**schema, "components": DESCRIPTION["components"]}
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator(whole)


def hold(name: str, response: HttpResponse) -> None:
    """Hold one real answer against what is documented for its status."""
    documented = follow(operations()[name]["responses"][str(response.status_code)])
    for header, node in documented.get("headers", {}).items():
        described = follow(node)
        value: Any = response.headers.get(header)
        assert value is not None or not described.get("required"), header
        if value is not None:
            typed = int(value) if described["schema"].get("type") == "integer" else value
            validator(described["schema"]).validate(typed)
    kind = response.headers["Content-Type"].split(";")[0]
    assert kind in documented["content"]
    if kind == "application/json":
        validator(documented["content"][kind]["schema"]).validate(json.loads(response.content))


def confirm(body: object, content_type: str = "application/json") -> HttpResponse:
    address = reverse("payments_pages:confirm")
    answer: HttpResponse = Client().post(address, json.dumps(body), content_type=content_type)
    return answer


def after(state: FulfilmentState, sandbox: Sandbox) -> HttpResponse:
    reference = pay(sandbox)
    confirm({"reference": reference})
    Fulfilment.objects.update(state=state, next_at=None)
    return confirm({"reference": reference})


def without_service(sandbox: Sandbox, ask: Callable[[str], HttpResponse]) -> HttpResponse:
    reference = pay(sandbox)
    sandbox.faults.add(operation="verify", kind="status", status=503)
    return ask(reference)


def status_of(token: UUID | str, method: str = "get") -> HttpResponse:
    address = reverse("payments_pages:result-status", args=[uuid4()])
    answer: HttpResponse = getattr(Client(), method)(
        address.rsplit("/", 3)[0] + f"/{token}/status/"
    )
    return answer


def known_token(sandbox: Sandbox) -> UUID:
    confirm_payment(pay(sandbox), door=Door.CONFIRM)
    return Transaction.objects.get().token


def get(name: str) -> HttpResponse:
    answer: HttpResponse = Client().get(reverse(f"payments_pages:{name}"))
    return answer


REQUESTS: dict[tuple[str, int], list[Callable[[Sandbox], HttpResponse]]] = {
    ("confirm", 200): [lambda s: confirm({"reference": pay(s)})],
    ("confirm", 202): [
        lambda s: confirm({"reference": pay(s, status="ongoing")}),
        lambda s: confirm({"reference": pay(s, amount=1)}),
        lambda s: after(FulfilmentState.REJECTED, s),
    ],
    ("confirm", 400): [
        lambda s: confirm([]),
        lambda s: confirm({"reference": ".."}),
        lambda s: confirm({"reference": "a/b"}),
    ],
    ("confirm", 402): [lambda s: confirm({"reference": pay(s, status="failed")})],
    ("confirm", 404): [lambda s: confirm({"reference": "PPG-404"})],
    ("confirm", 405): [lambda s: get("confirm")],
    ("confirm", 413): [lambda s: confirm({"reference": "x" * CONFIRM_LIMIT})],
    ("confirm", 415): [lambda s: confirm({"reference": pay(s)}, "text/plain")],
    ("confirm", 503): [lambda s: without_service(s, lambda r: confirm({"reference": r}))],
    ("resultStatus", 200): [lambda s: status_of(known_token(s))],
    ("resultStatus", 404): [lambda s: status_of(uuid4()), lambda s: status_of("no-token")],
    ("resultStatus", 405): [lambda s: status_of(uuid4(), "post")],
    ("webhook", 200): [
        lambda s: post(event(pay(s))),
        lambda s: post(event(pay(s, status="failed"), "charge.failed")),
        lambda s: post(event(pay(s, status="pending"), "charge.failed")),
        lambda s: post(event(pay(s, status="reversed"))),
        lambda s: post(event(pay(s, amount=1))),
        lambda s: post(event("PPG-404", "charge.failed")),
        lambda s: post(event("TRF-1", "transfer.success")),
    ],
    ("webhook", 400): [lambda s: post(b"[]"), lambda s: post(event("a/b"))],
    ("webhook", 401): [lambda s: post(event("PPG-1"), signature="0" * 64)],
    ("webhook", 405): [lambda s: get("webhook")],
    ("webhook", 413): [lambda s: post(b" " * (WEBHOOK_LIMIT + 1))],
    ("webhook", 503): [
        lambda s: without_service(s, lambda r: post(event(r))),
        lambda s: post(event(pay(s, status="failed"))),
        lambda s: post(event(pay(s, status="pending"))),
        lambda s: post(event("PPG-404")),
    ],
}


@pytest.mark.parametrize(("name", "status"), REQUESTS)
def test_a_documented_status_is_answered_as_documented(
    sandbox: Sandbox, name: str, status: int
) -> None:
    for request in REQUESTS[name, status]:
        response = request(sandbox)
        assert response.status_code == status
        hold(name, response)
        sandbox.faults.clear()


@pytest.mark.parametrize("name", ["confirm", "webhook"])
def test_a_failed_delivery_is_answered_as_documented(
    sandbox: Sandbox, configure: Any, name: str
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = pay(sandbox)
    ask = {
        "confirm": lambda: confirm({"reference": reference}),
        "webhook": lambda: post(event(reference)),
    }
    response = ask[name]()
    assert b"delivery_failed" in response.content
    hold(name, response)


def test_every_documented_status_has_its_request() -> None:
    documented = {
        (name, int(status))
        for name, operation in operations().items()
        for status in operation["responses"]
    }
    assert documented == set(REQUESTS)
    assert all(HTTPStatus(status) for _name, status in documented)


def test_the_described_addresses_are_those_of_the_site() -> None:
    prefix = "/payments"
    assert set(PATHS) == {
        reverse("payments_pages:confirm").removeprefix(prefix),
        reverse("payments_pages:webhook").removeprefix(prefix),
        reverse("payments_pages:result-status", args=[UUID(int=0)])
        .removeprefix(prefix)
        .replace(str(UUID(int=0)), "{token}"),
    }


def outcomes_of(name: str, status: int) -> set[str]:
    content = operations()[name]["responses"][str(status)]["content"]["application/json"]
    schema = content["schema"]
    parts = [*schema.get("allOf", []), schema]
    found = next(p["properties"]["outcome"] for p in parts if "properties" in p)
    return set(found.get("enum", [found.get("const")]))


def test_the_documented_outcomes_are_those_there_are() -> None:
    schemas = DESCRIPTION["components"]["schemas"]
    assert set(schemas["Outcome"]["enum"]) == set(Outcome.values)
    assert set(schemas["ResultStatus"]["properties"]["page"]["enum"]) == {*PAGES.values(), RETURNED}
    for status in set(STATUSES.values()):
        expected = {str(outcome) for outcome, answered in STATUSES.items() if answered == status}
        assert outcomes_of("confirm", status) == expected
    again = {str(outcome) for outcome in RETRY_OUTCOMES}
    # A signed success that is not confirmed is pending, and must be sent again.
    assert outcomes_of("webhook", 503) == again | {str(Outcome.PENDING)}
    assert outcomes_of("webhook", 200) == (set(Outcome.values) - again) | {"ignored"}


def test_the_described_reference_is_the_one_that_is_taken(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = validator(DESCRIPTION["components"]["schemas"]["Reference"])
    for text in ("PPG-1", "a=b.c_d-e", "x" * 128, "...", "", ".", "..", "a b", "a/b", "x" * 129):
        taken = confirm({"reference": text}).status_code != 400
        assert reference.is_valid(text) == taken, text


def test_an_answer_that_says_more_than_documented_is_noticed(sandbox: Sandbox) -> None:
    response = confirm({"reference": pay(sandbox)})
    said = json.loads(response.content)
    schema = operations()["confirm"]["responses"]["200"]["content"]["application/json"]["schema"]
    check = validator(schema)
    assert check.is_valid(said)
    for wrong in ({"email": "payer@example.test"}, {"outcome": "held"}, {"result_url": None}):
        assert not check.is_valid({**said, **wrong})
