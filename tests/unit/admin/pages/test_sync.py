"""A sync from the admin goes in short steps, with a script or without one."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core import signing
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.admin.pages import sync
from payments_pages.client import PageResource
from payments_pages.models import PaymentPage
from payments_pages.pages import sync as sync_module
from payments_pages.pages.mirror import mirrored_fields
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import LIST, SYNC, text

pytestmark = pytest.mark.django_db

JSON = {"Accept": "application/json"}


def fill(sandbox: Sandbox, count: int) -> None:
    for number in range(count):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=number + 1)


def token_in(response: Any) -> str:
    return text(response).split('name="token" value="')[1].split('"')[0]


def told(client: Client) -> list[str]:
    return [str(message) for message in client.get(LIST).context["messages"]]


def test_few_pages_take_one_step(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 50)
    response = staff.post(SYNC)
    assert (response.status_code, response["Location"]) == (302, LIST)
    assert told(staff) == ["Synced: 50 added, 0 changed, 0 unchanged, 0 newly missing."]
    entry = LogEntry.objects.get()
    assert entry.get_change_message() == (
        "Added sync of all payment pages (added, changed, unchanged, newly missing) “50, 0, 0, 0”."
    )
    assert (entry.user.get_username(), entry.object_id) == ("staff", None)
    assert staff.get("/admin/").status_code == 200, "the line about all pages is shown"


def test_without_a_script_each_step_has_a_page_with_a_button(
    sandbox: Sandbox, staff: Client
) -> None:
    fill(sandbox, 250)
    response = staff.post(SYNC)
    steps = [text(response)]
    while response.status_code == 200:
        assert 'value="Continue"' in text(response)
        response = staff.post(SYNC, {"token": token_in(response)})
        steps.append(text(response))
    assert "100 of 250 pages" in steps[0]
    assert "200 of 250 pages" in steps[1]
    assert PaymentPage.objects.count() == 250
    assert told(staff) == ["Synced: 250 added, 0 changed, 0 unchanged, 0 newly missing."]


def sync_by_script(client: Client) -> list[dict[str, Any]]:
    """Take all steps as the script does; return its answers."""
    response = client.post(SYNC)
    states: list[dict[str, Any]] = []
    data = {"token": token_in(response)}
    while not states or not states[-1]["done"]:
        states.append(client.post(SYNC, data, headers=JSON).json())
        data = {"token": states[-1].get("next", "")}
    return states


def test_a_script_gets_numbers_and_a_text_for_each_step(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 230)
    states = sync_by_script(staff)
    assert [(state.get("seen"), state["done"]) for state in states] == [(200, False), (None, True)]
    assert states[0]["text"] == "200 of 230 pages"
    assert (states[0]["added"], states[0]["total"]) == (200, 230)
    assert states[-1]["url"] == LIST
    assert told(staff) == ["Synced: 230 added, 0 changed, 0 unchanged, 0 newly missing."]


@pytest.mark.slow
def test_ten_thousand_pages_never_make_a_long_request(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 10_000)
    PaymentPage.objects.bulk_create(
        PaymentPage(**mirrored_fields(PageResource.from_payload(page)), synced_at=timezone.now())
        for page in sandbox.state.pages()
    )
    data: dict[str, str] = {}
    longest = most_calls = most_queries = largest = steps = 0.0
    while True:
        calls, began = len(sandbox.requests), time.perf_counter()
        with CaptureQueriesContext(connection) as queries:
            response = staff.post(SYNC, data, headers=JSON)
        state = response.json()
        longest = max(longest, time.perf_counter() - began)
        most_calls = max(most_calls, len(sandbox.requests) - calls)
        writes = [q for q in queries if 'UPDATE "payments_pages' in q["sql"].replace("`", '"')]
        most_queries = max(most_queries, len(writes) if not state["done"] else 0)
        steps += 1
        if state["done"]:
            break
        data = {"token": state["next"]}
        largest = max(largest, len(state["next"]))
        assert state["unchanged"] == state["seen"]
    assert steps >= 100
    assert most_calls == 2, "a hundred pages, in two lists"
    assert most_queries == 1, "one statement marks a hundred unchanged pages as seen"
    assert largest < 3_000, "what travels between two steps does not grow"
    assert longest < 5, "seconds, on a busy machine too"
    began = time.perf_counter()
    assert told(staff) == ["Synced: 0 added, 0 changed, 10000 unchanged, 0 newly missing."]
    assert time.perf_counter() - began < 5, "the list of ten thousand pages is no long request"


def test_what_is_gone_is_marked_at_the_end_only(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 150)
    sync_module.sync_pages()
    del sandbox.state._pages[sandbox.state.pages()[-1]["id"]]
    response = staff.post(SYNC)
    assert not PaymentPage.objects.filter(missing_since__isnull=False).exists()
    staff.post(SYNC, {"token": token_in(response)})
    assert PaymentPage.objects.get(missing_since__isnull=False).slug == "page-0"
    assert "1 newly missing" in told(staff)[0]


def test_pages_of_the_other_mode_are_not_missing(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 1)
    sync_module.sync_pages()
    PaymentPage.objects.update(remote_id=5, slug_key="other", domain="live")
    staff.post(SYNC)
    assert not PaymentPage.objects.filter(missing_since__isnull=False).exists()


def test_c58_a_listing_that_breaks_off_keeps_what_came_and_can_be_continued(
    sandbox: Sandbox, staff: Client
) -> None:
    fill(sandbox, 250)
    sandbox.faults.add(operation="list", kind="status", status=500, skip=3)
    response = staff.post(SYNC)
    state = staff.post(SYNC, {"token": token_in(response)}, headers=JSON).json()
    assert "broke off" in state["error"]
    assert (state["done"], state["seen"]) == (False, 150)
    assert PaymentPage.objects.count() == 150
    page = text(staff.post(SYNC, {"token": state["next"]}))
    assert "broke off" in page
    sandbox.faults.clear()
    while not state["done"]:
        state = staff.post(SYNC, {"token": state["next"]}, headers=JSON).json()
    assert PaymentPage.objects.count() == 250
    assert told(staff) == ["Synced: 250 added, 0 changed, 0 unchanged, 0 newly missing."]
    assert not PaymentPage.objects.filter(missing_since__isnull=False).exists()


def test_c58_what_cannot_be_read_marks_nothing_as_missing(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 2)
    sync_module.sync_pages()
    body = {"status": True, "data": [{"slug": "without a number"}]}
    sandbox.faults.add(operation="list", kind="status", status=200, body=body)
    staff.post(SYNC)
    assert "nothing was marked as missing" in told(staff)[0]
    assert not PaymentPage.objects.filter(missing_since__isnull=False).exists()


def test_c58_a_listing_that_repeats_for_ever_ends_between_steps_too(
    sandbox: Sandbox, staff: Client
) -> None:
    items = [
        {"id": number, "slug": f"p{number}", "name": "Page", "currency": "ILS", "amount": 1}
        for number in range(20, 70)
    ]
    body = {"status": True, "data": items}
    sandbox.faults.add(operation="list", kind="status", status=200, body=body)
    assert staff.post(SYNC).status_code == 302
    assert told(staff) == ["Synced: 50 added, 0 changed, 0 unchanged, 0 newly missing."]


def test_c58_a_listing_without_an_end_ends(
    sandbox: Sandbox, staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_module, "MAX_LISTS", 3)
    sandbox.set_account(max_per_page=2)
    fill(sandbox, 10)
    state = staff.post(SYNC, {"token": token_in(staff.post(SYNC))}, headers=JSON).json()
    assert "broke off" in state["error"]
    assert PaymentPage.objects.count() == 6


def test_c58_a_page_made_between_two_steps_is_counted_once(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 150)
    token = token_in(staff.post(SYNC))
    sandbox.add_page(slug="newest", amount=1)
    token = token_in(staff.post(SYNC, {"token": token}))
    staff.post(SYNC, {"token": token})
    assert told(staff) == ["Synced: 150 added, 0 changed, 0 unchanged, 0 newly missing."]


def test_drift_is_told_at_the_end(sandbox: Sandbox, staff: Client) -> None:
    fill(sandbox, 2)
    sync_module.sync_pages()
    sandbox.set_page("page-0", amount=500)
    staff.post(SYNC)
    assert "1 page is not as it was last set here" in told(staff)[1]


def test_a_token_is_one_persons_and_not_for_long(
    sandbox: Sandbox, staff: Client, person: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sandbox, 150)
    token = token_in(staff.post(SYNC))
    calls = len(sandbox.requests)
    other = person("sync_paymentpage", "view_paymentpage")
    forged = signing.dumps({"number": 3}, salt="payments_pages.other")
    for client, wrong in ((other, token), (staff, token[:-3]), (staff, forged), (staff, "x")):
        assert client.post(SYNC, {"token": wrong}).status_code == 302
        assert "Begin a new one" in told(client)[0]
    answer = staff.post(SYNC, {"token": "x"}, headers=JSON).json()
    assert answer == {"done": True, "url": LIST}
    monkeypatch.setattr(sync, "MAX_AGE", -1)
    staff.post(SYNC, {"token": token})
    assert len(sandbox.requests) == calls


def test_only_who_may_sync_does(person: Callable[..., Client], sandbox: Sandbox) -> None:
    viewer = person("view_paymentpage", "change_paymentpage")
    assert viewer.post(SYNC).status_code == 403
    assert SYNC not in text(viewer.get(LIST))
    clerk = person("view_paymentpage", "sync_paymentpage")
    assert SYNC in text(clerk.get(LIST))
    assert clerk.post(SYNC).status_code == 302
    assert clerk.get(SYNC).status_code == 405
    assert Client(enforce_csrf_checks=True).post(SYNC).status_code == 403


def test_a_sync_without_the_service_says_so(sandbox: Sandbox, staff: Client) -> None:
    sandbox.faults.add(operation="list", kind="status", status=401)
    shown = text(staff.post(SYNC))
    assert "The listing broke off" in shown
    assert "SECRET_KEY" in shown
