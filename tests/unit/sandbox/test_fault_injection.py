"""Every kind of fault, seen from the other end of the wire."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from payments_pages.sandbox import Sandbox


@pytest.fixture(autouse=True)
def paid(sandbox: Sandbox) -> None:
    sandbox.add_transaction("A-1")
    sandbox.add_transaction("B-2")


# Answers in place of the real one


def test_a_status_comes_with_the_usual_envelope_or_a_body(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="status", status=429, headers={"Retry-After": "30"}, times=1)
    throttled = api.verify("A-1")
    assert throttled.status_code == 429
    assert throttled.headers["Retry-After"] == "30"
    assert throttled.json() == {"status": False, "message": "Too Many Requests"}
    sandbox.faults.add(kind="status", status=400, body={"status": "false"}, times=1)
    assert api.verify("A-1").json() == {"status": "false"}
    sandbox.faults.add(kind="status", status=599)
    assert api.verify("A-1").status_code == 599


@pytest.mark.parametrize("status", [200, 400, 502])
def test_c25_html_comes_in_place_of_json(sandbox: Sandbox, api: Any, status: int) -> None:
    sandbox.faults.add(kind="html", status=status)
    answer = api.verify("A-1")
    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.text.startswith("<html>")


def test_c25_the_body_is_empty(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="empty")
    answer = api.verify("A-1")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Content-Type"] == "application/json"


def test_any_bytes_can_be_sent(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="raw", body=b"\xff\x00", content_type="text/x", status=201, times=1)
    answer = api.verify("A-1")
    assert (answer.status_code, answer.content) == (201, b"\xff\x00")
    assert answer.headers["Content-Type"] == "text/x"
    sandbox.faults.add(kind="raw", body="[1]", headers={"X-A": "b"})
    assert api.verify("A-1").json() == [1]


def test_c25_json_is_cut_off(sandbox: Sandbox, api: Any) -> None:
    whole = api.verify("A-1").content
    sandbox.faults.add(kind="truncated", times=1)
    assert api.verify("A-1").content == whole[: len(whole) // 2]
    sandbox.faults.add(kind="truncated", length=12)
    assert api.verify("A-1").content == b'{"status": t'


# No answer


@pytest.mark.parametrize("options", [{}, {"reset": True}, {"after": "headers"}])
def test_c27_the_connection_is_dropped(sandbox: Sandbox, api: Any, options: dict[str, Any]) -> None:
    sandbox.faults.add(kind="drop", times=1, **options)
    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        api.verify("A-1")
    assert sandbox.verify_calls("A-1") == 1
    assert api.verify("A-1").status_code == 200


def test_c15_nothing_comes_and_then_the_end(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="hang", seconds=0.2, times=1)
    started = time.monotonic()
    with pytest.raises(requests.ConnectionError):
        api.verify("A-1")
    assert time.monotonic() - started >= 0.2
    sandbox.faults.add(kind="hang", seconds=60, times=1)
    with pytest.raises(requests.ReadTimeout):
        api.verify("A-1", timeout=0.1)


def test_handlers_that_hang_end_when_the_sandbox_stops(sandbox: Sandbox, api: Any) -> None:
    kinds: list[dict[str, Any]] = [
        {"kind": "hang"}, {"kind": "latency", "seconds": 60}, {"kind": "drip", "seconds": 60},
        {"kind": "barrier", "seconds": 60},
    ]  # fmt: skip
    for options in kinds:
        sandbox.faults.add(reference=options["kind"], **options)
    before = threading.active_count()
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(api.verify, options["kind"]) for options in kinds]
        while sandbox.verify_calls() < 4:
            time.sleep(0.01)
        started = time.monotonic()
        sandbox.stop()
        errors = [future.exception(timeout=5) for future in waiting]
    # What waits at a barrier is let go, and may still be sent; the others lose the connection.
    assert sum(isinstance(error, requests.ConnectionError) for error in errors) >= 3
    assert time.monotonic() - started < 5
    deadline = time.monotonic() + 5
    while threading.active_count() >= before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() < before


def test_an_answer_is_lost_after_the_work_is_done(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="answer_lost", operation="create", times=1)
    with pytest.raises(requests.ConnectionError):
        api("POST", "/page", json={"name": "Tea", "slug": "tea"})
    assert api("GET", "/page/tea").json()["data"]["name"] == "Tea"


def test_no_work_is_done_for_an_answer_in_its_place(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="status", operation="create", times=1)
    assert api("POST", "/page", json={"name": "Tea"}).status_code == 500
    assert sandbox.state.pages() == []


# Slow answers


def test_latency_delays_the_answer(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="latency", seconds=0.15, times=1)
    started = time.monotonic()
    assert api.verify("A-1").json()["data"]["status"] == "success"
    assert time.monotonic() - started >= 0.15


def test_latency_goes_with_the_next_fault(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="latency", seconds=0.15)
    sandbox.faults.add(kind="status", status=503)
    started = time.monotonic()
    assert api.verify("A-1").status_code == 503
    assert time.monotonic() - started >= 0.15


def test_a_late_answer_tells_what_was_true_before_the_wait(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(
        kind="run", function=lambda: sandbox.set_transaction("A-1", status="reversed"), times=1
    )
    assert api.verify("A-1").json()["data"]["status"] == "success"
    assert api.verify("A-1").json()["data"]["status"] == "reversed"


@pytest.mark.parametrize("part", ["headers", "body"])
def test_c15_a_drip_arrives_whole_in_the_end(sandbox: Sandbox, api: Any, part: str) -> None:
    sandbox.faults.add(kind="raw", body=b'{"a": 1}', times=1)
    whole = api.verify("A-1").content
    sandbox.faults.add(kind="drip", seconds=0.001, part=part, operation="check_slug")
    started = time.monotonic()
    answer = api("GET", "/page/check_slug_availability/free")
    assert answer.json()["status"] is True
    assert time.monotonic() - started >= 0.001 * len(answer.content)
    assert whole == b'{"a": 1}'


def test_c15_a_drip_escapes_a_read_timeout(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="drip", seconds=0.01)
    started = time.monotonic()
    assert api("GET", "/page/check_slug_availability/free", timeout=0.5).status_code == 200
    assert time.monotonic() - started > 1


def test_a_drip_ends_when_the_client_goes(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="drip", seconds=0.01, part="body", times=1)
    api.verify("A-1", stream=True).close()
    assert api.verify("A-1").status_code == 200


def test_c01_a_barrier_lets_answers_go_together(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="barrier", count=3, seconds=10)
    with ThreadPoolExecutor(3) as pool:
        first = [pool.submit(api.verify, "A-1") for _ in range(2)]
        time.sleep(0.2)
        assert not any(future.done() for future in first)
        last = pool.submit(api.verify, "B-2")
        assert {f.result(timeout=5).status_code for f in [*first, last]} == {200}


def test_a_barrier_gives_up_after_its_time(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="barrier", count=2, seconds=0.1)
    started = time.monotonic()
    assert api.verify("A-1").status_code == 200
    assert 0.1 <= time.monotonic() - started < 5


# Wrong answers


def test_c16_statuses_follow_each_other_and_the_last_stays(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="status_sequence", statuses=["pending", "ongoing", "success"])
    seen = [api.verify("A-1").json()["data"]["status"] for _ in range(4)]
    assert seen == ["pending", "ongoing", "success", "success"]
    assert api.verify("B-2").json()["data"]["status"] == "pending"


def test_the_answer_is_about_another_reference(sandbox: Sandbox, api: Any) -> None:
    sandbox.set_transaction("A-1", status="failed")
    sandbox.faults.add(kind="wrong_reference", other="Z-9")
    data = api.verify("A-1").json()["data"]
    assert (data["reference"], data["status"]) == ("Z-9", "success")


def test_fields_of_the_data_are_changed_and_removed(sandbox: Sandbox, api: Any) -> None:
    right = api.verify("A-1").json()["data"]
    sandbox.faults.add(
        kind="patch", data={"amount": "10000", "fees": ..., "new": None}, remove=["log"], times=1
    )
    patched = api.verify("A-1").json()["data"]
    expected = {**right, "amount": "10000", "new": None}
    del expected["fees"], expected["log"]
    assert patched == expected
    assert api.verify("A-1").json()["data"] == right


def test_the_envelope_is_changed(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="patch", envelope={"status": "true", "data": None, "message": ...})
    assert api.verify("A-1").json() == {"status": "true", "data": None}


def test_an_answer_without_data_gets_none(sandbox: Sandbox, api: Any) -> None:
    sandbox.faults.add(kind="patch", data={"id": 1}, envelope={"message": "Changed"})
    answer = api("GET", "/page/check_slug_availability/free")
    assert answer.json() == {"status": True, "message": "Changed"}


def test_every_item_of_a_list_is_changed(sandbox: Sandbox, api: Any) -> None:
    sandbox.add_page()
    sandbox.add_page()
    sandbox.faults.add(kind="patch", operation="list", remove=["id"])
    items = api("GET", "/page").json()["data"]
    assert [("id" in item, item["name"]) for item in items] == [(False, "Tea box")] * 2


def test_a_redirect_has_a_body_that_looks_right(sandbox: Sandbox, api: Any) -> None:
    right = api.verify("A-1").json()
    sandbox.faults.add(kind="redirect", location="http://elsewhere.invalid/x", times=1)
    answer = api.verify("A-1")
    assert (answer.status_code, answer.json()) == (302, right)
    assert answer.headers["Location"] == "http://elsewhere.invalid/x"
