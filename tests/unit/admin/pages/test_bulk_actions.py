"""What is done to many pages is done one by one, and each has its own outcome (case C55)."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import OperationalError, ProgrammingError, connection
from django.test import Client

from payments_pages.admin.pages import bulk_actions
from payments_pages.models import PaymentPage
from payments_pages.pages import sync_pages
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import LIST, rows, sent, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(sandbox: Sandbox) -> list[PaymentPage]:
    for number in range(3):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=100 + number)
    sync_pages()
    return list(PaymentPage.objects.order_by("slug"))


def act(client: Client, action: str, pages: list[PaymentPage], **more: str) -> Any:
    chosen = [page.pk for page in pages]
    return client.post(LIST, {"action": action, "_selected_action": chosen, **more}, follow=True)


def outcomes(response: Any) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in list(rows(text(response)))[1:]}


def test_activating_needs_no_question_and_each_page_has_a_row(
    staff: Client, sandbox: Sandbox, pages: list[PaymentPage]
) -> None:
    for number in range(3):
        sandbox.set_page(f"page-{number}", active=False)
    sandbox.faults.add(
        operation="update", kind="status", status=422, reference=str(pages[1].remote_id),
        body={"status": False, "message": "<i>Not now</i>"},
    )  # fmt: skip
    response = act(staff, "activate_pages", pages)
    found = outcomes(response)
    assert found["Page 0"] == ["✓ Activated.", "✓ active ◇ test"]
    assert found["Page 1"][0].startswith("✗ The service refused this:")
    assert found["Page 1"][1].startswith("○ inactive"), "as it is there"
    assert "<i>Not now</i>" not in text(response)
    assert LogEntry.objects.filter(change_message__contains="page (activated)").count() == 2
    assert list(PaymentPage.objects.order_by("slug").values_list("active", flat=True)) == [
        True, False, True,
    ]  # fmt: skip


def test_deactivating_is_asked_first(
    staff: Client, sandbox: Sandbox, pages: list[PaymentPage]
) -> None:
    calls = len(sandbox.requests)
    shown = text(act(staff, "deactivate_pages", pages[:2]))
    assert "Nobody will be able to pay" in shown
    assert "Page 0" in shown
    assert "Page 2" not in shown[shown.index('id="content-main"') :]
    assert len(sandbox.requests) == calls
    response = act(staff, "deactivate_pages", pages[:2], confirmed="1")
    assert set(outcomes(response)) == {"Page 0", "Page 1"}
    assert not PaymentPage.objects.filter(slug__in=["page-0", "page-1"], active=True).exists()


def test_a_slow_service_leaves_the_rest_for_another_request(
    staff: Client, sandbox: Sandbox, pages: list[PaymentPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_actions, "MAX_SECONDS", -1.0)
    response = act(staff, "activate_pages", pages)
    shown = text(response)
    assert len(outcomes(response)) == 1
    assert "left for another request" in shown
    rest = [part.split('"')[0] for part in shown.split('name="_selected_action" value="')[1:]]
    assert len(rest) == 2
    assert len(sent(sandbox, "PUT")) == 1
    data = {"action": "activate_pages", "confirmed": "1", "_selected_action": rest}
    assert set(outcomes(staff.post(LIST, data))) | set(outcomes(response)) <= {
        f"Page {number}" for number in range(3)
    }
    assert len(sent(sandbox, "PUT")) == 2


def test_at_most_a_hundred_pages_at_once(staff: Client, sandbox: Sandbox) -> None:
    for number in range(101):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=100 + number)
    sync_pages()
    response = act(staff, "activate_pages", list(PaymentPage.objects.all()))
    assert "at most 100 pages" in text(response)
    assert sent(sandbox, "PUT") == []


@contextmanager
def busy(error: Exception) -> Iterator[None]:
    """Let every write of a page fail."""

    def fail(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE") and "payments_pages_paymentpage" in sql:
            raise error
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        yield


def test_a_busy_database_is_told_of_each_page_and_a_fault_of_ours_is_not_hidden(
    staff: Client, sandbox: Sandbox, pages: list[PaymentPage]
) -> None:
    locked = OperationalError("database is locked")
    locked.__cause__ = _locked()
    with busy(locked):
        found = outcomes(act(staff, "activate_pages", pages))
    assert [row[0] for row in found.values()] == [
        "✗ The database is busy. The service may have saved the change: sync."
    ] * 3
    with busy(ProgrammingError("no such column")), pytest.raises(ProgrammingError):
        act(staff, "activate_pages", pages)


def _locked() -> Exception:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error


def test_only_who_may_change_pages_acts(
    person: Callable[..., Client], sandbox: Sandbox, pages: list[PaymentPage]
) -> None:
    viewer = person("view_paymentpage")
    for action in ("deactivate_pages", "activate_pages", "keep_drift", "send_drift_back"):
        assert action not in text(viewer.get(LIST))
        act(viewer, action, pages, confirmed="1")
    assert sent(sandbox, "PUT") == []
    response = act(person("change_paymentpage"), "deactivate_pages", pages, confirmed="1")
    assert len(outcomes(response)) == 3
