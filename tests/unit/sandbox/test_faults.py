"""Which calls a declared fault means, and when it is used up."""

from typing import Any

import pytest

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.faults import KINDS, Faults


@pytest.fixture(autouse=True)
def paid(sandbox: Sandbox) -> None:
    sandbox.add_transaction("A-1")
    sandbox.add_transaction("B-2")


def test_a_fault_is_used_up(sandbox: Sandbox, api: Any) -> None:
    fault = sandbox.faults.add(kind="status", status=503, times=2)
    assert [api.verify("A-1").status_code for _ in range(3)] == [503, 503, 200]
    assert fault.used == 2
    assert sandbox.faults.active() == []


def test_a_fault_without_times_stays_until_cleared(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="status")
    assert {api.verify("A-1").status_code for _ in range(4)} == {500}
    sandbox.faults.clear()
    assert api.verify("A-1").status_code == 200


def test_faults_are_used_up_in_order(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="status", status=500, times=1)
    sandbox.faults.add(kind="status", status=502, times=1)
    sandbox.faults.add(kind="status", status=504)
    assert [api.verify("A-1").status_code for _ in range(4)] == [500, 502, 504, 504]


def test_a_fault_may_let_calls_by_first(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="status", operation="list", skip=1, times=1)
    assert [api("GET", "/page").status_code for _ in range(3)] == [200, 500, 200]


def test_a_fault_means_one_reference(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="status", reference="A-1")
    assert api.verify("B-2").status_code == 200
    assert api.verify("A-1").status_code == 500


@pytest.mark.parametrize(
    ("operation", "method", "path", "body"),
    [
        ("create", "POST", "/page", {"name": "Tea"}),
        ("list", "GET", "/page", None),
        ("fetch", "GET", "/page/tea", None),
        ("update", "PUT", "/page/tea", {"name": "Tea"}),
        ("check_slug", "GET", "/page/check_slug_availability/free", None),
        ("verify", "GET", "/transaction/verify/A-1", None),
    ],
)
def test_a_fault_means_one_operation(
    sandbox: Sandbox, api: Any, operation: str, method: str, path: str, body: Any
) -> None:
    sandbox.add_page(slug="tea")
    sandbox.faults.add(kind="status", status=418, operation=operation)
    assert api(method, path, json=body).status_code == 418
    sandbox.faults.clear()
    others = [name for name in ("list", "verify") if name != operation]
    for name in others:
        sandbox.faults.add(kind="status", status=418, operation=name)
    assert api(method, path, json=body).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "meteor"}, {"kind": "status", "operation": "charge"}, {"kind": "drop", "seconds": 1},
        {"kind": "status", "times": 0}, {"kind": "status", "times": True},
        {"kind": "status", "skip": -1}, {"kind": "status", "status": "500"},
        {"kind": "drip", "part": "tail"}, {"kind": "drop", "after": "lunch"},
        {"kind": "latency", "seconds": "1"}, {"kind": "status_sequence", "statuses": []},
        {"kind": "status_sequence", "statuses": "pending"}, {"kind": "run"},
        {"kind": "run", "function": "os.abort"}, {"kind": "patch", "data": []},
    ],
)  # fmt: skip
def test_a_fault_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    faults = Faults()
    with pytest.raises(ValueError, match=r"."):
        faults.add(**wrong)
    assert faults.active() == []


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"run"}))
def test_every_kind_has_defaults(kind: str) -> None:
    assert Faults().add(kind=kind).options == KINDS[kind]
