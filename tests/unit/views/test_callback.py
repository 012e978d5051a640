"""The payer's doors: what they answer, what they never do, and what they never tell."""

import re
import time
from collections import Counter
from typing import Any

import pytest
import requests
from django.test import Client, override_settings
from django.urls import reverse

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread, mirror_another
from tests.support.goods.models import Good
from tests.support.payer import (
    CALLBACK,
    CHECKING,
    NOT_PAID,
    PAID,
    PREPARING,
    PROCESSING,
    RETURNED,
    UNAVAILABLE,
    UNKNOWN,
    Elements,
    follow,
    heading,
)

pytestmark = pytest.mark.django_db

at_once = pytest.mark.django_db(transaction=True)


def test_a_payer_who_paid_is_sent_to_the_result_page(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client
) -> None:
    reference = sandbox.pay("tea-box")
    response = come_back(reference, tea_box)
    token = Transaction.objects.get().token
    assert response.headers["Location"] == f"/payments/result/{token}/"
    assert reference not in response.headers["Location"]
    page = follow(client, response)
    assert heading(page) == PAID
    text = page.content.decode()
    assert '<bdi dir="ltr">100.00\u00a0ILS</bdi>' in text
    assert f'<bdi dir="ltr">{reference}</bdi>' in text
    assert "Tea box" in text
    assert "Test payment" in text


@pytest.mark.parametrize(
    ("status", "title"),
    [("failed", NOT_PAID), ("abandoned", NOT_PAID), ("reversed", RETURNED),
     ("pending", PROCESSING), ("ongoing", PROCESSING), ("queued", PROCESSING),
     ("success!", PROCESSING), ("", PROCESSING)],
)  # fmt: skip
def test_c03_what_is_not_a_success_is_not_shown_as_one(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client, status: str, title: str
) -> None:
    reference = sandbox.pay("tea-box", reference="PPG-1003", status=status)
    page = follow(client, come_back(reference, tea_box))
    assert heading(page) == title
    assert Transaction.objects.get().status == status
    assert not Good.objects.exists()


@pytest.mark.parametrize("amount", [1000, 9999, 0])
def test_c05_who_paid_too_little_is_not_told_that_all_is_paid(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client, amount: int
) -> None:
    reference = sandbox.pay("tea-box", reference="PPG-1005", amount=amount)
    assert heading(follow(client, come_back(reference, tea_box))) == CHECKING


def test_c10_a_forged_success_makes_one_call_and_delivers_nothing(
    sandbox: Sandbox, client: Client
) -> None:
    response = client.get(
        CALLBACK,
        {"reference": "PPG-1010", "status": "success", "amount": "10000", "trxref": "PPG-1010"},
    )
    assert response.status_code == 404
    assert heading(response) == UNKNOWN
    assert sandbox.verify_calls() == 1
    assert not Good.objects.exists()
    assert not Transaction.objects.exists()


def test_c10_words_in_the_address_do_not_make_a_failed_payment_good(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client
) -> None:
    sandbox.pay("tea-box", reference="PPG-1010", status="failed")
    address = reverse("payments_pages:page-callback", args=[tea_box.token])
    query = {"reference": "PPG-1010", "status": "success", "outcome": "delivered", "door": "admin"}
    assert heading(follow(client, client.get(address, query))) == NOT_PAID


def test_c08_who_submits_anothers_reference_learns_nothing_and_gets_nothing(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client
) -> None:
    dear = mirror_another(sandbox, slug="dear", name="Gold", amount=100000)
    sandbox.pay("tea-box", reference="PPG-1008", first_name="Lina", email="lina@example.test")
    come_back("PPG-1008", tea_box)
    page = follow(client, come_back("PPG-1008", dear, headers={"Cookie": "sessionid=another"}))
    assert "Gold" not in page.content.decode()
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().transaction.page == tea_box


REFUSED = [
    "../../page/18", "..", ".", "%2e%2e%2fpage%2f18", "a/b", "a?b=1", "a#b", "a%2Fb", "a;b",
    "a b", "a+b", "\\..\\page", "a/../b", "/", "//evil.example", "a\u2215b", "x" * 129,
    # Case C46.
    "PPG\x00-1", "PPG\r\nX-Evil:1", "☕", "١٢٣", "\ufffd\ufffd", "ＰPG-1", "<script>",
    "' OR 1=1--", "A" * 10_000, "PPG-1\n", "PPG-\u00e1", "{}", "%00",
]  # fmt: skip


@pytest.mark.parametrize("reference", REFUSED)
def test_c11_what_is_no_reference_is_refused_before_any_call(
    sandbox: Sandbox, come_back: Any, client: Client, reference: str
) -> None:
    response = come_back(reference)
    assert response.status_code == 400
    assert heading(response) == UNKNOWN
    plain = client.get(CALLBACK, {"reference": ""})
    assert Elements(response.content.decode()).names == Elements(plain.content.decode()).names
    assert sandbox.requests == []
    assert not Verification.objects.exists()
    assert "X-Evil" not in response.headers


@pytest.mark.parametrize("reference", ["a=b.c-d", "a..b", "...", "a.b", "-", "=", "_", "A" * 128])
def test_c11_a_reference_arrives_unharmed_as_one_segment(
    sandbox: Sandbox, come_back: Any, reference: str
) -> None:
    sandbox.add_transaction(reference)
    assert come_back(reference).status_code == 303
    [call] = sandbox.requests
    assert (call.operation, call.key) == ("verify", reference)
    assert re.fullmatch(r"/transaction/verify/[^/?#]+", call.path)


def test_c11_a_wider_pattern_is_still_one_segment(
    sandbox: Sandbox, come_back: Any, configure: Any
) -> None:
    configure(REFERENCE_PATTERN=r"[^\s]{1,64}")
    for reference in ("..", "."):
        assert come_back(reference).status_code == 400
    for reference in ("../../page/18", "a%2Fb", "a?b#c", "شاي"):
        come_back(reference)
    assert sandbox.verify_calls() == 4
    assert all(re.fullmatch(r"/transaction/verify/[^/?#]+", r.path) for r in sandbox.requests)
    assert {r.key for r in sandbox.requests} == {"../../page/18", "a%2Fb", "a?b#c", "شاي"}


@pytest.mark.parametrize(
    "query",
    ["", "reference=", "reference=%20%20", "reference[]=PPG-1040", "order=7?reference=PPG-1040",
     "reference=PPG-1040&reference=PPG-OTHER", "trxref=PPG-OTHER&reference=PPG-1040",
     "reference=&trxref=PPG-1040", "Reference=PPG-1040", "ref=PPG-1040", "reference",
     "reference=PPG-1040%00", "reference=%09PPG-1040", "reference=PPG-1040&trxref=ppg-1040"],
)  # fmt: skip
def test_c40_no_reference_or_two_is_a_bad_request_without_a_call(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client, query: str
) -> None:
    sandbox.pay("tea-box", reference="PPG-1040")
    response = client.get(f"{CALLBACK}?{query}")
    assert response.status_code == 400
    assert sandbox.requests == []
    assert not Verification.objects.exists()


@pytest.mark.parametrize(
    "query",
    ["reference=PPG-1040", "trxref=PPG-1040", "trxref=PPG-1040&reference=PPG-1040",
     "reference=PPG-1040&reference=PPG-1040", "reference=%20PPG-1040%20",
     "reference=%20PPG-1040&trxref=PPG-1040", "a=1&reference=PPG-1040&status=failed"],
)  # fmt: skip
def test_c40_the_same_reference_however_often_is_one(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client, query: str
) -> None:
    sandbox.pay("tea-box", reference="PPG-1040")
    address = reverse("payments_pages:page-callback", args=[tea_box.token])
    assert client.get(f"{address}?{query}").status_code == 303
    assert Good.objects.count() == 1
    assert [call.path for call in sandbox.requests] == ["/transaction/verify/PPG-1040"]


def test_c40_the_parameters_name_is_a_setting(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client, configure: Any
) -> None:
    configure(REFERENCE_PARAMS=["tx"])
    sandbox.add_transaction("PPG-1040")
    assert client.get(f"{CALLBACK}?reference=PPG-1040").status_code == 400
    assert client.get(f"{CALLBACK}?tx=PPG-1040").status_code == 303


# What makes no call


@pytest.mark.parametrize("method", ["head", "options", "post", "put", "patch", "delete", "trace"])
@pytest.mark.parametrize("path", ["callback/", "callback/{}/"])
def test_only_a_visit_verifies(
    tea_box: PaymentPage, sandbox: Sandbox, method: str, path: str
) -> None:
    client = Client(enforce_csrf_checks=True)
    sandbox.pay("tea-box", reference="PPG-1")
    address = f"/payments/{path.format(tea_box.token)}?reference=PPG-1"
    response = getattr(client, method)(address)
    assert response.status_code == (204 if method in {"head", "options"} else 405)
    assert sandbox.requests == []
    assert not Verification.objects.exists()


@pytest.mark.parametrize("secure", [False, True])
def test_c33_a_post_from_elsewhere_is_405_and_no_csrf_page(
    tea_box: PaymentPage, sandbox: Sandbox, secure: bool
) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Origin": "https://pay.example"})
    response = client.post(CALLBACK, {"reference": "PPG-1"}, secure=secure)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Purpose": "prefetch"}, {"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}],
)
def test_a_prefetch_makes_no_call_and_the_visit_after_it_does(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, headers: dict[str, str]
) -> None:
    reference = sandbox.pay("tea-box")
    response = come_back(reference, tea_box, headers=headers)
    assert (response.status_code, response.content) == (204, b"")
    assert sandbox.requests == []
    assert come_back(reference, tea_box).status_code == 303


# Service down


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "hang"},
        {"kind": "drip", "seconds": 0.1, "part": "headers"},
        {"kind": "drip", "seconds": 0.1, "part": "body"},
        {"kind": "status", "status": 503},
        {"kind": "status", "status": 401},
        {"kind": "status", "status": 429, "headers": {"Retry-After": "30"}},
        {"kind": "html"},
        {"kind": "html", "status": 404},
        {"kind": "truncated"},
        {"kind": "empty"},
        {"kind": "drop", "reset": True},
        {"kind": "redirect"},
        {"kind": "wrong_reference"},
        {"kind": "raw", "body": "[1, 2]"},
        {"kind": "patch", "data": {"status": None}},
        {"kind": "patch", "remove": ["reference"]},
    ],
    ids=lambda fault: "-".join(str(value) for value in fault.values() if type(value) is not dict),
)
@at_once
def test_a_service_that_cannot_answer_costs_the_payer_no_more_than_the_deadline(
    tea_box: PaymentPage,
    sandbox: Sandbox,
    come_back: Any,
    client: Client,
    configure: Any,
    fault: dict[str, Any],
) -> None:
    configure(DEADLINE=0.5, READ_TIMEOUT=0.4)
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", **fault)
    started = time.monotonic()
    response = come_back(reference, tea_box)
    if fault["kind"] in {"hang", "drip"}:
        assert time.monotonic() - started < 0.5 + 1
    assert (response.status_code, heading(response)) == (200, UNAVAILABLE)
    assert f'href="/payments/callback/{tea_box.token}/?reference={reference}"' in (
        response.content.decode()
    )
    assert "Bad Gateway" not in response.content.decode()
    assert not Fulfilment.objects.exists()
    sandbox.faults.clear()
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}, "without the payer"
    assert heading(follow(client, come_back(reference, tea_box))) == PAID
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().transaction.page == tea_box


@at_once
def test_a_service_that_is_gone_is_told_at_once(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, configure: Any
) -> None:
    configure(BASE_URL="http://127.0.0.1:9/api")
    started = time.monotonic()
    response = come_back("PPG-1", tea_box)
    assert time.monotonic() - started < 1.0
    assert heading(response) == UNAVAILABLE


def test_check_again_after_an_outage_finds_the_payment(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client
) -> None:
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="status", status=503)
    response = come_back(reference, tea_box)
    sandbox.faults.clear()
    link = re.search(r'href="(/payments/callback/[^"]+)"', response.content.decode())
    assert link
    let_time_pass(3)
    assert heading(follow(client, client.get(link[1]))) == PAID


def test_c12_a_delivery_that_failed_is_not_shown_as_done(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_first")
    reference = sandbox.pay("tea-box", reference="PPG-1012")
    page = follow(client, come_back(reference, tea_box))
    assert heading(page) == PREPARING
    assert "Do not pay again" in page.content.decode()
    assert "RuntimeError" not in page.content.decode()
    assert heading(follow(client, come_back(reference))) == PAID


# The host project's own ways


@at_once
@pytest.mark.parametrize("rival", [False, True])
def test_c20_with_a_transaction_per_request_the_callback_has_none(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Client, rival: bool
) -> None:
    from django.db import connection

    reference = sandbox.pay("tea-box", reference="PPG-1020")
    if rival:
        confirm_payment(reference, door=Door.WEBHOOK)
    connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        assert heading(follow(client, come_back(reference, tea_box))) == PAID
        assert heading(follow(client, come_back(reference))) == PAID
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = False
    assert Good.objects.count() == 1


def test_c49_where_everything_needs_a_login_the_payers_doors_do_not(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client, come_back: Any, settings: Any
) -> None:
    middleware = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    reference = sandbox.pay("tea-box")
    with override_settings(MIDDLEWARE=middleware):
        assert heading(follow(client, come_back(reference, tea_box))) == PAID
        token = Transaction.objects.get().token
        assert client.get(f"/payments/result/{token}/status/").status_code == 200
    assert Good.objects.count() == 1


def test_a_merchants_own_result_view_gets_the_token(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, configure: Any
) -> None:
    configure(RESULT_VIEW="payments_pages:result-status")
    response = come_back(sandbox.pay("tea-box"), tea_box)
    token = Transaction.objects.get().token
    assert response.headers["Location"] == f"/payments/result/{token}/status/"


@pytest.mark.race
@at_once
def test_many_callbacks_at_once_on_a_real_server_deliver_once(
    tea_box: PaymentPage, sandbox: Sandbox, live_server: Any
) -> None:
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="latency", seconds=0.2)
    path = reverse("payments_pages:page-callback", args=[tea_box.token])

    def visit() -> tuple[int, str]:
        response = requests.get(
            f"{live_server.url}{path}", {"reference": reference}, allow_redirects=False, timeout=30
        )
        return response.status_code, response.headers.get("Location", "")

    visits = [in_thread(visit) for _payer in range(24)]
    answers = Counter(visit.result() for visit in visits)
    token = Transaction.objects.get().token
    assert answers == {(303, f"/payments/result/{token}/"): 24}
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert sandbox.verify_calls(reference) == 1
