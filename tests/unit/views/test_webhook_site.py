"""The webhook inside sites of all kinds: CSRF, logins, one transaction per request, proxies."""

from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.door_behaviour import at_once, pay
from tests.support.goods.models import Good
from tests.support.webhook_signing import HEADER, SECRET, event, post, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("open_webhook", "tea_box")]

LOGIN_REQUIRED = "django.contrib.auth.middleware.LoginRequiredMiddleware"


@pytest.mark.parametrize("secure", [False, True])
def test_c33_the_csrf_guard_does_not_stand_in_the_way(sandbox: Sandbox, secure: bool) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = post(event(pay(sandbox)), client=client, secure=secure)
    assert (answer.status_code, said(answer)) == (200, {"outcome": "delivered"})
    refused = post(event("PPG-1"), client=client, secure=secure, signature="0" * 64)
    assert refused.status_code == 401


def test_c33_neither_for_an_origin_that_is_not_ours(sandbox: Sandbox) -> None:
    client = Client(enforce_csrf_checks=True)
    headers = {"Origin": "https://elsewhere.example", "Referer": "https://elsewhere.example/"}
    assert post(event(pay(sandbox)), client=client, headers=headers).status_code == 200


def test_c49_a_site_that_wants_a_login_everywhere_lets_the_service_in(
    sandbox: Sandbox, settings: Any
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOGIN_REQUIRED]
    settings.LOGIN_URL = "/admin/login/"
    assert post(event(pay(sandbox))).status_code == 200
    assert post(event("PPG-1"), signature="").status_code == 401
    assert Good.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_c20_one_transaction_per_request_is_not_ours(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, configure: Any
) -> None:
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    reference = pay(sandbox)
    assert said(post(event(reference))) == {"outcome": "delivered"}
    assert said(post(event(reference))) == {"outcome": "already_delivered"}
    configure(HANDLER="tests.support.goods.handlers.fail_first")
    other = pay(sandbox)
    assert [post(event(other)).status_code for _time in range(2)] == [503, 200]
    assert Good.objects.count() == Fulfilment.objects.count() == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "internal.example:8080"},
        {"X-Forwarded-Host": "shop.example, proxy.example", "X-Forwarded-Proto": "https"},
        {"X-Forwarded-Host": "not-allowed.example"},
        {"Forwarded": "host=elsewhere.example;proto=http", "Via": "1.1 proxy"},
    ],
)
def test_a_proxy_that_changes_the_host_changes_nothing(
    sandbox: Sandbox, settings: Any, headers: dict[str, str]
) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "internal.example"]
    assert post(event(pay(sandbox)), headers=headers).status_code == 200
    assert Good.objects.count() == 1


def test_a_session_that_comes_along_is_neither_read_nor_made(sandbox: Sandbox) -> None:
    client = Client()
    client.cookies["sessionid"] = "somebody-elses"
    answer = post(event(pay(sandbox)), client=client)
    assert answer.status_code == 200
    assert not answer.cookies
    assert "Cookie" not in answer.headers.get("Vary", "")


@pytest.mark.django_db(transaction=True)
def test_the_sandboxes_own_webhooks_are_taken_over_real_http(
    live_server: Any, sandbox: Sandbox
) -> None:
    sandbox.set_account(webhook_header=HEADER, webhook_algorithm="sha256", webhook_secret=SECRET)
    url = live_server.url + reverse("payments_pages:webhook")
    reference = pay(sandbox)
    assert sandbox.send_webhook(url, reference, times=6, at_once=True) == [200] * 6
    assert sandbox.verify_calls(reference) == Good.objects.count() == 1
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(60)
    assert sandbox.send_webhook(url, reference, "refund.processed") == [200]
    assert sandbox.send_webhook(url, reference, headers={HEADER: ""}) == [401]


@pytest.mark.django_db(transaction=True)
def test_c01_the_payers_return_and_the_notice_at_the_same_moment_give_once(
    live_server: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = pay(sandbox)
    sandbox.faults.add(operation="verify", kind="latency", seconds=0.3)
    back = reverse("payments_pages:page-callback", args=[tea_box.token])
    visits = [lambda: Client().get(back, {"reference": reference}).status_code] * 3
    notices = [lambda: post(event(reference)).status_code] * 3
    answers = at_once(visits + notices)
    assert set(answers[:3]) <= {200, 303}
    assert answers[3:] == [200] * 3
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert sandbox.verify_calls(reference) == 1


def test_d08_both_spellings_of_the_address_are_served(sandbox: Sandbox, settings: Any) -> None:
    for debug in (False, True):
        settings.DEBUG = debug
        for path in ("/payments/webhook", "/payments/webhook/"):
            answer = post(event(pay(sandbox)), path=path)
            assert (answer.status_code, said(answer)) == (200, {"outcome": "delivered"})
            assert post(event("PPG-1"), path=path, signature="").status_code == 401
        for path in ("/payments/confirm", "/payments/confirm/"):
            body = {"reference": pay(sandbox)}
            found = Client().post(path, body, content_type="application/json")
            assert found.status_code == 200
    assert Good.objects.count() == 8
