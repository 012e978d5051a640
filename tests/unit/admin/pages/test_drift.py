"""What was changed at the service behind our back is shown, and staff decide which one stands."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from payments_pages.exceptions import PageError, ServiceUnavailable
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, send_local_back, set_active, sync_pages, update_page
from payments_pages.sandbox import Sandbox
from tests.conftest import in_thread
from tests.support.pages_admin import LIST, change_url, rows, sent, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(sandbox: Sandbox) -> PaymentPage:
    return create_page(name="Tea box", amount=10000, slug="tea-box", description="12 bags")


def drift_of(page: PaymentPage) -> dict[str, Any]:
    page.refresh_from_db()
    drift: dict[str, Any] = page.drift
    return drift


def seen(response: Any) -> str:
    shown = text(response)
    return shown.split('name="seen" value="')[1].split('"')[0]


def decide(client: Client, page: PaymentPage, choice: str) -> Any:
    digest = seen(client.get(change_url(page)))
    data = {"seen": digest, choice: "1"}
    return client.post(f"{LIST}{page.pk}/drift/", data, follow=True)


def test_a_sync_follows_the_service_and_remembers_ours(page: PaymentPage, sandbox: Sandbox) -> None:
    sandbox.set_page("tea-box", name="Cheap tea", amount=1, active=False, description="")
    report = sync_pages()
    assert (report.changed, report.drifted) == (1, 1)
    ours = {"name": "Tea box", "amount": 10000, "active": True, "description": "12 bags"}
    assert drift_of(page) == ours
    assert (page.name, page.amount, page.active, page.description) == ("Cheap tea", 1, False, "")
    sandbox.set_page("tea-box", name="Cheaper tea")
    sync_pages()
    assert drift_of(page)["name"] == "Tea box", "the oldest stays: it is what staff had set"
    sandbox.set_page("tea-box", name="Tea box", active=True)
    report = sync_pages()
    assert drift_of(page) == {"amount": 10000, "description": "12 bags"}, "two are back at ours"
    sync_pages()
    assert drift_of(page) == {"amount": 10000, "description": "12 bags"}


def test_our_own_changes_are_no_drift_and_settle_what_they_send(
    page: PaymentPage, sandbox: Sandbox
) -> None:
    update_page(page, amount=12000)
    assert sync_pages().unchanged == 1
    assert drift_of(page) == {}
    sandbox.set_page("tea-box", name="Cheap tea", amount=1)
    sync_pages()
    page.refresh_from_db()
    update_page(page, amount=12000)
    assert drift_of(page) == {"name": "Tea box"}, "the name goes along, as it is there"
    assert sent(sandbox, "PUT")[-1] == {"name": "Cheap tea", "amount": 12000}


def test_deactivating_does_not_undo_a_name_that_was_changed_there(
    page: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.set_page("tea-box", name="Green tea")
    set_active(page, active=False)
    assert sent(sandbox, "PUT") == [{"name": "Green tea", "active": False}]
    assert drift_of(page) == {"name": "Tea box"}


def test_what_a_new_page_answers_is_no_drift(page: PaymentPage, sandbox: Sandbox) -> None:
    sandbox.add_page(name="Elsewhere", slug="elsewhere", amount=5)
    sync_pages()
    assert not PaymentPage.objects.exclude(drift={}).exists()


def test_an_answer_older_than_the_mirror_changes_nothing(
    page: PaymentPage, sandbox: Sandbox
) -> None:
    """Staff save while a sync's list, asked for before, is still on its way."""
    body = {"status": True, "data": [dict(sandbox.state.pages()[0])]}

    def save() -> None:
        update_page(PaymentPage.objects.get(), amount=12000)

    sandbox.faults.add(
        operation="list", kind="run", function=lambda: in_thread(save).result(timeout=30), times=1
    )
    sandbox.faults.add(operation="list", kind="status", status=200, body=body)
    report = sync_pages()
    page.refresh_from_db()
    assert (page.amount, page.drift, report.unchanged) == (12000, {}, 1)


def test_staff_see_both_versions_and_keep_the_services(
    page: PaymentPage, sandbox: Sandbox, staff: Client
) -> None:
    assert 'id="pp-drift"' not in text(staff.get(change_url(page)))
    sandbox.set_page("tea-box", name="<b>Cheap</b>", amount=1)
    sync_pages()
    assert "changed at the service" in text(staff.get(LIST))
    shown = text(staff.get(change_url(page)))
    table = list(rows(shown[shown.index('id="pp-drift"') :]))
    assert table[1:3] == [
        ["name", "Tea box", "<b>Cheap</b>"],
        ["amount", "100.00 ILS", "0.01 ILS"],
    ]
    assert "<b>Cheap</b>" not in shown
    calls = len(sandbox.requests)
    decide(staff, page, "keep")
    assert drift_of(page) == {}
    assert (page.amount, len(sandbox.requests)) == (1, calls)
    told = LogEntry.objects.latest("pk").get_change_message()
    assert told == "Changed page (kept as the service has it)."


def test_staff_send_ours_back(page: PaymentPage, sandbox: Sandbox, staff: Client) -> None:
    sandbox.set_page("tea-box", amount=1, description="")
    sync_pages()
    decide(staff, page, "send")
    assert sent(sandbox, "PUT") == [{"name": "Tea box", "amount": 10000, "description": "12 bags"}]
    assert drift_of(page) == {}
    there = sandbox.state.pages()[0]
    assert (there["amount"], there["description"]) == (10000, "12 bags")
    told = LogEntry.objects.latest("pk").get_change_message()
    assert told == "Changed page (ours sent back to the service)."


def test_a_decision_is_about_what_was_shown(
    page: PaymentPage, sandbox: Sandbox, staff: Client
) -> None:
    sandbox.set_page("tea-box", amount=1)
    sync_pages()
    digest = seen(staff.get(change_url(page)))
    sandbox.set_page("tea-box", amount=2)
    sync_pages()
    for choice in ("keep", "send"):
        data = {"seen": digest, choice: "1"}
        response = staff.post(f"{LIST}{page.pk}/drift/", data, follow=True)
        assert "changed again meanwhile" in text(response)
    assert drift_of(page) == {"amount": 10000}
    assert sent(sandbox, "PUT") == []


def test_a_redirect_address_cannot_be_sent_back_and_the_page_says_what_to_do(
    page: PaymentPage, sandbox: Sandbox, staff: Client
) -> None:
    sandbox.set_page("tea-box", redirect_url="https://thief.example/")
    sync_pages()
    shown = text(staff.get(change_url(page)))
    assert "A redirect address cannot be sent back" in shown
    assert "Payers do not come back to this site" in shown
    assert page.redirect_url in shown, "the address that it should be"
    assert "Send ours back" not in shown
    with pytest.raises(PageError):
        send_local_back(page)
    sandbox.set_page("tea-box", amount=1)
    sync_pages()
    decide(staff, page, "send")
    assert set(drift_of(page)) == {"redirect_url"}, "what cannot be sent stays to be seen"


def test_that_the_payer_chooses_cannot_be_sent_back(sandbox: Sandbox, staff: Client) -> None:
    page = create_page(name="Gift", amount=None, slug="gift")
    sandbox.set_page("gift", amount=5)
    sync_pages()
    assert drift_of(page) == {"amount": None}
    shown = text(staff.get(change_url(page)))
    assert "That the payer chooses the amount cannot be sent back" in shown
    assert "Send ours back" not in shown


def test_a_service_that_is_down_leaves_the_decision_open(
    page: PaymentPage, sandbox: Sandbox, staff: Client
) -> None:
    sandbox.set_page("tea-box", amount=1)
    sync_pages()
    sandbox.faults.add(operation="fetch", kind="status", status=503)
    assert "cannot be reached" in text(decide(staff, page, "send"))
    assert drift_of(page) == {"amount": 10000}
    with pytest.raises(ServiceUnavailable):
        send_local_back(page)


def test_only_who_may_change_pages_decides(
    page: PaymentPage, sandbox: Sandbox, person: Callable[..., Client]
) -> None:
    sandbox.set_page("tea-box", amount=1)
    sync_pages()
    viewer = person("view_paymentpage")
    shown = text(viewer.get(change_url(page)))
    assert 'id="pp-drift"' in shown
    assert "Keep what the service has" not in shown
    assert viewer.post(f"{LIST}{page.pk}/drift/", {"keep": "1"}).status_code == 403
    editor = person("change_paymentpage")
    assert editor.get(f"{LIST}{page.pk}/drift/").status_code == 405
    assert editor.post(f"{LIST}999/drift/", {"keep": "1"}).status_code == 302
    assert drift_of(page) == {"amount": 10000}


def test_many_pages_are_settled_at_once(sandbox: Sandbox, staff: Client) -> None:
    pages = [create_page(name=f"Page {n}", amount=100 + n, slug=f"page-{n}") for n in range(4)]
    for number in range(3):
        sandbox.set_page(f"page-{number}", amount=5)
    sync_pages()
    chosen = {"_selected_action": [page.pk for page in pages]}
    kept = {"action": "keep_drift", "_selected_action": [pages[0].pk, pages[3].pk]}
    assert "1 page done." in text(staff.post(LIST, kept)), "the one that did not drift is left out"
    back = {**chosen, "action": "send_drift_back"}
    assert "will replace" in text(staff.post(LIST, back))
    assert "2 pages done." in text(staff.post(LIST, {**back, "confirmed": "1"}))
    assert [body["amount"] for body in sent(sandbox, "PUT")] == [102, 101]
    assert not PaymentPage.objects.exclude(drift={}).exists()
    response = staff.post(LIST, {**back, "confirmed": "1"}, follow=True)
    assert "none of these pages was changed" in text(response)
