"""What payers are shown, and what no page of ours tells."""

import re
import uuid
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from payments_pages.views.rendering import PAGES
from tests.support.goods.models import Good
from tests.support.payer import (
    CALLBACK,
    CHECKING,
    PAID,
    PREPARING,
    REJECTED,
    Elements,
    follow,
    heading,
)

pytestmark = pytest.mark.django_db

at_once = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_a_page(outcome: Outcome) -> None:
    assert PAGES[outcome]


@pytest.mark.parametrize(
    ("state", "title"),
    [
        (FulfilmentState.PENDING, PREPARING),
        (FulfilmentState.DELIVERING, PREPARING),
        (FulfilmentState.DELIVERED, PAID),
        (FulfilmentState.FAILED, PREPARING),
        (FulfilmentState.HELD, CHECKING),
        (FulfilmentState.REJECTED, REJECTED),
    ],
)
def test_the_result_page_tells_what_is_true_now_from_the_database_alone(
    tea_box: PaymentPage,
    sandbox: Sandbox,
    client: Client,
    django_assert_num_queries: Any,
    state: FulfilmentState,
    title: str,
) -> None:
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    Fulfilment.objects.update(state=state)
    token = Transaction.objects.get().token
    with django_assert_num_queries(1):
        page = client.get(f"/payments/result/{token}/")
    assert (page.status_code, heading(page)) == (200, title)
    status = client.get(f"/payments/result/{token}/status/").json()
    assert status["page"] == PAGES[Outcome(status["outcome"])]
    assert sandbox.verify_calls() == 1


def test_an_unknown_result_is_404(sandbox: Sandbox, client: Client) -> None:
    for path in (f"/payments/result/{uuid.uuid4()}/", f"/payments/result/{uuid.uuid4()}/status/"):
        assert client.get(path).status_code == 404
        assert client.post(path).status_code == 405


def test_c48_reload_back_and_a_second_browser_change_nothing(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client
) -> None:
    reference = sandbox.pay("tea-box")
    for _visit in range(5):
        assert heading(follow(client, come_back(reference, tea_box))) == PAID
    let_time_pass(30 * 86_400)
    sandbox.faults.add(operation="verify", kind="hang")
    other = Client()
    response = other.get(CALLBACK, {"reference": reference})
    assert heading(follow(other, response)) == PAID
    assert (Good.objects.count(), sandbox.verify_calls()) == (1, 1)


NASTY = "<img src=x onerror=alert(1)>\"'></bdi><script>1</script>"


def test_c51_foreign_text_is_shown_escaped_and_adds_no_element(
    sandbox: Sandbox, tea_box: PaymentPage, come_back: Any, client: Client
) -> None:
    plain = follow(client, come_back(sandbox.pay("tea-box", reference="PLAIN"), tea_box))
    PaymentPage.objects.update(name=NASTY, description=NASTY)
    nasty = dict.fromkeys(
        ("message", "gateway_response", "channel", "ip_address", "metadata"), NASTY
    )
    sandbox.pay("tea-box", reference="NASTY", first_name=NASTY, **nasty)
    page = follow(client, come_back("NASTY", tea_box))
    usual, seen = Elements(plain.content.decode()), Elements(page.content.decode())
    assert seen.names == usual.names
    assert "&lt;img src=x" in page.content.decode()
    held = sandbox.pay("tea-box", reference="HELD", currency=NASTY[:16])
    assert b"<img" not in follow(client, come_back(held, tea_box)).content


def test_c50_no_word_of_the_address_or_the_wire_leads_elsewhere(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client
) -> None:
    PaymentPage.objects.update(redirect_url="https://evil.example")
    reference = sandbox.pay("tea-box", metadata={"return_to": "https://evil.example"})
    for target in ("https://evil.example", "//evil.example", "javascript:alert(1)", "/ok/"):
        response = client.get(CALLBACK, {"reference": reference, "next": target})
        assert urlsplit(response.headers["Location"])[:2] == ("", "")
        page = follow(client, response)
        assert all(link.startswith("/") for link in Elements(page.content.decode()).links)


PAYER = {
    "email": "lina.private@example.test", "first_name": "Lina-Private", "last_name": "Nasser-Private",
    "phone": "+970599000111", "ip_address": "203.0.113.77",
}  # fmt: skip


@pytest.mark.parametrize("status", ["success", "failed", "pending", "held"])
def test_c49_no_page_tells_who_paid(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client, status: str
) -> None:
    fields: dict[str, Any] = {"amount": 1} if status == "held" else {"status": status}
    reference = sandbox.pay("tea-box", **fields, **PAYER)
    told = sandbox.transaction(reference)
    assert told is not None
    told["authorization"] = {
        "authorization_code": "AUTH_private1", "last4": "7391", "bin": "408112", "bank": "Private Bank",
    }  # fmt: skip
    sandbox.set_transaction(reference, authorization=told["authorization"])
    first = come_back(reference, tea_box)
    token = Transaction.objects.get().token
    answers = [
        first, follow(client, first), client.get(f"/payments/result/{token}/status/"),
        come_back("UNKNOWN-1"), come_back("../x"),
    ]  # fmt: skip
    secrets = [*PAYER.values(), *told["authorization"].values(), told["customer"]["customer_code"]]
    for answer in answers:
        text = answer.content.decode() + repr(answer.headers) + repr(answer.cookies)
        # Both are drawn by lot, and may hold four digits that are a secret's.
        text = text.replace(str(token), "").replace(reference, "")
        assert [secret for secret in secrets if secret in text] == []
        assert not answer.cookies
    details = " ".join(Event.objects.values_list("detail", flat=True))
    assert [secret for secret in secrets if secret in details] == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("get", "callback/?reference=PPG-1", 303),
        ("get", "callback/?reference=NOBODY", 404),
        ("get", "callback/", 400),
        ("head", "callback/?reference=PPG-1", 204),
        ("options", "callback/", 204),
        ("post", "callback/", 405),
        ("get", "result/{token}/", 200),
        ("head", "result/{token}/", 200),
        ("post", "result/{token}/", 405),
        ("get", "result/{token}/status/", 200),
        ("get", "result/00000000-0000-4000-8000-000000000000/", 404),
        ("get", "result/00000000-0000-4000-8000-000000000000/status/", 404),
    ],
)
def test_every_answer_leaves_no_trace(
    tea_box: PaymentPage, sandbox: Sandbox, method: str, path: str, status: int
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    token = Transaction.objects.get().token
    response = getattr(Client(), method)(f"/payments/{path.format(token=token)}")
    assert response.status_code == status
    assert response.headers["Cache-Control"] == "no-store, private"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Robots-Tag"] == "noindex, nofollow"
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "sessionid" not in response.cookies


def test_a_page_needs_nothing_that_its_policy_forbids(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client
) -> None:
    page = follow(client, come_back(sandbox.pay("tea-box"), tea_box))
    text = page.content.decode()
    assert not re.search(r"<script(?! src)|<style|style=|\son\w+=|javascript:", text)
