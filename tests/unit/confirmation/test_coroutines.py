"""`aconfirm_payment`: the same path for coroutines, under a server of Django's own ASGI handler."""

import asyncio
import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, async_to_sync, sync_to_async
from django.core.asgi import get_asgi_application
from django.db import connection, connections
from django.db import transaction as db_transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path

from payments_pages.choices import Outcome
from payments_pages.confirmation import aconfirm_payment, confirm_payment, sweep_due
from payments_pages.exceptions import InvalidReference, OpenTransactionError
from payments_pages.models import Event, Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

REFERENCE = "PPG-1"


async def confirm_view(request: HttpRequest) -> JsonResponse:
    found = await aconfirm_payment(request.GET["reference"])
    return JsonResponse({"outcome": found.outcome})


async def nested_view(request: HttpRequest) -> JsonResponse:
    """Synchronous code in the middle, as a middleware or a template tag may be."""

    def inside() -> dict[str, str]:
        try:
            with db_transaction.atomic():
                return {"outcome": async_to_sync(aconfirm_payment)(REFERENCE).outcome}
        except OpenTransactionError as error:
            return {"error": type(error).__name__}

    return JsonResponse(await sync_to_async(inside)())


urlpatterns = [path("paid/", confirm_view), path("nested/", nested_view)]


@pytest.fixture(autouse=True)
def own_urls(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__


@pytest.fixture
def paid(sandbox: Sandbox) -> str:
    """A paid reference that this site expects."""
    expect_payment(REFERENCE)
    sandbox.add_transaction(REFERENCE, amount=10000)
    return REFERENCE


async def request(
    address: str, hang_up: Callable[[], Awaitable[Any]] | None = None
) -> tuple[int, dict[str, Any]]:
    """Ask a new ASGI application; status 0 if the client hung up before the answer."""
    where, _, query = address.partition("?")
    sent: list[dict[str, Any]] = []
    told = False

    async def receive() -> dict[str, Any]:
        nonlocal told
        if not told:
            told = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await (hang_up() if hang_up else asyncio.Event().wait())
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": where, "query_string": query.encode(),
        "headers": [(b"host", b"testserver")], "asgi": {"version": "3.0"},
    }  # fmt: skip
    await get_asgi_application()(scope, receive, send)
    if not sent:
        return 0, {}
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(body)


def serve(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a server's loop: each request has a thread, and Django closes its connections."""
    return asyncio.run(work)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine without a server, with a thread of its own for synchronous code."""

    async def in_context() -> Any:
        async with ThreadSensitiveContext():
            try:
                return await work
            finally:
                await sync_to_async(connections.close_all)()

    return asyncio.run(in_context())


def test_it_has_the_signature_of_confirm_payment() -> None:
    def parameters(function: Any) -> list[inspect.Parameter]:
        return list(inspect.signature(function).parameters.values())

    assert parameters(aconfirm_payment) == parameters(confirm_payment)


def test_each_argument_reaches_the_path(paid: str) -> None:
    async def confirm() -> Any:
        return await aconfirm_payment(paid, vouched=True, actor="cron", deliver_now=True)

    assert run(confirm()).outcome is Outcome.DELIVERED
    assert Verification.objects.get().vouched
    assert Event.objects.filter(actor="cron").exists()


def test_an_async_view_delivers(paid: str) -> None:
    assert serve(request(f"/paid/?reference={paid}")) == (200, {"outcome": "delivered"})
    assert serve(request(f"/paid/?reference={paid}")) == (200, {"outcome": "already_delivered"})
    assert Good.objects.count() == 1


def test_the_loop_works_meanwhile(paid: str, sandbox: Sandbox) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        asked.set()
        assert go_on.wait(10)

    sandbox.faults.add(operation="verify", kind="run", function=wait, times=1)

    async def both() -> Any:
        task = asyncio.create_task(aconfirm_payment(paid))
        while not asked.is_set():
            await asyncio.sleep(0.005)
        go_on.set()
        return await task

    assert run(both()).outcome is Outcome.DELIVERED


def test_ten_requests_at_once_deliver_once(paid: str, sandbox: Sandbox) -> None:
    async def ten() -> list[tuple[int, dict[str, Any]]]:
        return await asyncio.gather(*(request(f"/paid/?reference={paid}") for _ in range(10)))

    answers = serve(ten())
    assert {status for status, _body in answers} == {200}
    outcomes = [body["outcome"] for _status, body in answers]
    assert outcomes.count("delivered") == 1
    assert set(outcomes) <= {"delivered", "already_delivered", "delivering", "pending"}
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert sandbox.verify_calls(paid) == 1


def test_ten_tasks_of_one_request_deliver_once(paid: str) -> None:
    async def ten() -> list[Any]:
        return await asyncio.gather(*(aconfirm_payment(paid) for _ in range(10)))

    assert [found.outcome for found in run(ten())].count(Outcome.DELIVERED) == 1
    assert Good.objects.count() == 1


@pytest.mark.parametrize(
    "goes", [False, True], ids=["the service answers", "the service goes away"]
)
def test_who_hangs_up_while_the_service_is_asked_loses_nothing(
    paid: str, sandbox: Sandbox, goes: bool
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        asked.set()
        assert go_on.wait(10)

    sandbox.faults.add(operation="verify", kind="run", function=wait, times=1)
    if goes:
        sandbox.faults.add(operation="verify", kind="status", status=503, times=9)

    async def hang_up() -> None:
        while not asked.is_set():
            await asyncio.sleep(0.005)
        asyncio.get_running_loop().call_later(0.05, go_on.set)

    assert serve(request(f"/paid/?reference={paid}", hang_up)) == (0, {})
    assert Good.objects.count() == (0 if goes else 1)
    sandbox.faults.clear()
    let_time_pass(120)
    sweep_due()
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert confirm_payment(paid).outcome is Outcome.ALREADY_DELIVERED


def test_a_cancelled_task_raises_and_its_call_goes_on(paid: str, sandbox: Sandbox) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        asked.set()
        assert go_on.wait(10)

    sandbox.faults.add(operation="verify", kind="run", function=wait, times=1)

    async def cancelled() -> None:
        task = asyncio.create_task(aconfirm_payment(paid))
        while not asked.is_set():
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    run(cancelled())
    assert Good.objects.count() == 1
    let_time_pass(120)
    sweep_due()
    assert Good.objects.count() == 1


# Open transactions


def test_the_callers_transaction_is_seen_through_async_to_sync() -> None:
    with db_transaction.atomic(), pytest.raises(OpenTransactionError, match="on_commit"):
        async_to_sync(aconfirm_payment)(REFERENCE)


def test_the_callers_transaction_is_seen_around_a_loop_of_its_own() -> None:
    with db_transaction.atomic(), pytest.raises(OpenTransactionError, match="aconfirm_payment"):
        asyncio.run(aconfirm_payment(REFERENCE))
    assert not Verification.objects.exists()


def test_autocommit_off_is_seen_around_a_loop_of_its_own() -> None:
    db_transaction.set_autocommit(False)
    try:
        with pytest.raises(OpenTransactionError, match="autocommit"):
            asyncio.run(aconfirm_payment(REFERENCE))
    finally:
        db_transaction.rollback()
        db_transaction.set_autocommit(True)


def test_a_transaction_in_the_requests_own_thread_is_seen() -> None:
    assert serve(request("/nested/")) == (200, {"error": "OpenTransactionError"})


def test_a_transaction_of_another_thread_is_not_the_callers(paid: str) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer: the other transaction would hold everybody up")
    with db_transaction.atomic():
        found = _in_another_thread(lambda: run(aconfirm_payment(paid)))
    assert found.outcome is Outcome.DELIVERED


def _in_another_thread(work: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def test_what_cannot_be_a_reference_is_refused(tea_box: PaymentPage) -> None:
    with pytest.raises(InvalidReference):
        run(aconfirm_payment("a b"))
