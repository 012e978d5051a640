"""What confirm answers, by status code; it acts by reference alone."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from payments_pages.choices import FulfilmentState, Outcome
from payments_pages.models import Fulfilment, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from payments_pages.views.confirm import STATUSES
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good
from tests.support.webhook_signing import said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("tea_box")]


def confirm(
    payload: Any,
    *,
    client: Client | None = None,
    content_type: str = "application/json",
    **more: Any,
) -> HttpResponse:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    response: HttpResponse = (client or Client()).post(
        reverse("payments_pages:confirm"), body, content_type=content_type, **more
    )
    return response


def confirm_reference(reference: str, **more: Any) -> HttpResponse:
    return confirm({"reference": reference}, **more)


def put(state: FulfilmentState) -> None:
    Fulfilment.objects.update(state=state, next_at=None)


def test_every_outcome_has_a_status() -> None:
    assert set(STATUSES) == set(Outcome)


def test_delivered_is_200_and_already_delivered_too(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    for outcome in ("delivered", "already_delivered", "already_delivered"):
        answer = confirm_reference(reference)
        assert (answer.status_code, said(answer)["outcome"]) == (200, outcome)
        assert "Retry-After" not in answer.headers


def test_pending_is_202_and_says_when_to_ask_again(sandbox: Sandbox) -> None:
    answer = confirm_reference(pay(sandbox, status="ongoing"))
    assert (answer.status_code, said(answer)["outcome"]) == (202, "pending")
    assert answer.headers["Retry-After"] == "5"


def test_held_and_rejected_are_202_and_asking_again_does_not_help(sandbox: Sandbox) -> None:
    reference = pay(sandbox, amount=1)
    answer = confirm_reference(reference)
    assert (answer.status_code, said(answer)["outcome"]) == (202, "held")
    assert "Retry-After" not in answer.headers
    put(FulfilmentState.REJECTED)
    answer = confirm_reference(reference)
    assert (answer.status_code, said(answer)["outcome"]) == (202, "rejected")
    assert "Retry-After" not in answer.headers


def test_a_failed_delivery_is_202_and_will_be_tried_again(sandbox: Sandbox, configure: Any) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    answer = confirm_reference(pay(sandbox))
    assert (answer.status_code, said(answer)["outcome"]) == (202, "delivery_failed")
    assert answer.headers["Retry-After"] == "5"


def test_a_delivery_in_other_hands_is_202(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments_pages.confirmation.rivals.RIVAL_PATIENCE", 0.05)
    reference = pay(sandbox)
    confirm_reference(reference)
    put(FulfilmentState.DELIVERING)
    answer = confirm_reference(reference)
    assert (answer.status_code, said(answer)["outcome"]) == (202, "delivering")
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.parametrize("status", ["failed", "abandoned", "reversed"])
def test_not_paid_is_402(sandbox: Sandbox, status: str) -> None:
    answer = confirm_reference(pay(sandbox, status=status))
    assert (answer.status_code, said(answer)["outcome"]) == (402, "not_paid")
    assert "Retry-After" not in answer.headers


def test_unknown_is_404(sandbox: Sandbox) -> None:
    answer = confirm_reference("MADE-UP")
    assert answer.status_code == 404
    assert said(answer) == {"outcome": "unknown", "reference": "MADE-UP", "result_url": None}


@pytest.mark.parametrize(("asked", "told"), [("30", "30"), (None, "5"), ("never", "5")])
def test_unavailable_is_503_and_hands_on_when_to_come_again(
    sandbox: Sandbox, asked: str | None, told: str
) -> None:
    headers = {"Retry-After": asked} if asked else {}
    sandbox.faults.add(operation="verify", kind="status", status=429, headers=headers)
    answer = confirm_reference(pay(sandbox))
    assert (answer.status_code, said(answer)["outcome"]) == (503, "unavailable")
    assert answer.headers["Retry-After"] == told


def test_a_refused_key_is_503_and_never_the_payers_fault(sandbox: Sandbox) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=401)
    answer = confirm_reference(pay(sandbox))
    assert (answer.status_code, said(answer)["outcome"]) == (503, "unavailable")


NO_REFERENCES = [
    b" ", b"{", b"hello", b"\xff\xfe", b"null", b"1", b'"PPG-1"', b"[]", b'["PPG-1"]', b"{}",
    b'{"reference": null}', b'{"reference": 1}', b'{"reference": true}', b'{"reference": ["A"]}',
    b'{"reference": {"reference": "A"}}', b'{"Reference": "A"}', b'{"trxref": "A"}',
    b'{"reference": ""}', b'{"reference": " A "}', b'{"reference": "a/b"}', b'{"reference": ".."}',
    b'{"reference": "\\u0000"}', b'{"reference": "A\\n"}', b'{"reference": "\\ud800"}',
    b'{"reference": "\\u0661\\u0662"}', b"[" * 4000, b'{"a":' * 800, b'{"reference": ' + b"1" * 4000,
    b"reference=PPG-1",
]  # fmt: skip


@pytest.mark.parametrize("body", NO_REFERENCES)
def test_what_names_no_reference_is_400_and_asks_nothing(sandbox: Sandbox, body: bytes) -> None:
    answer = confirm(body)
    assert answer.status_code == 400
    assert sorted(said(answer)) == ["detail", "outcome"]
    assert said(answer)["outcome"] == "invalid"
    assert sandbox.requests == []
    assert not Verification.objects.exists()


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/json",
        "application/vnd.api+json",
        "",
    ],
)
def test_what_a_form_on_another_site_can_send_is_415(sandbox: Sandbox, content_type: str) -> None:
    answer = confirm({"reference": pay(sandbox)}, content_type=content_type)
    assert (answer.status_code, said(answer)["outcome"]) == (415, "invalid")
    assert sandbox.verify_calls() == 0


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_may_be_spelt_as_http_allows(sandbox: Sandbox, kind: str) -> None:
    assert confirm({"reference": pay(sandbox)}, content_type=kind).status_code == 200


def test_a_long_body_is_413(sandbox: Sandbox) -> None:
    answer = confirm({"reference": "PPG-1", "padding": "x" * 5000})
    assert (answer.status_code, said(answer)["outcome"]) == (413, "invalid")
    assert sandbox.verify_calls() == 0


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options"])
def test_only_a_post_confirms(sandbox: Sandbox, method: str) -> None:
    address = reverse("payments_pages:confirm") + f"?reference={pay(sandbox)}"
    answer = getattr(Client(), method)(address)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert sandbox.verify_calls() == 0


def test_c10_only_the_reference_is_read(sandbox: Sandbox) -> None:
    claims = {
        "status": "success",
        "paid": True,
        "amount": 10000,
        "page": "tea-box",
        "order": "O2",
        "transaction": {"status": "success"},
        "result_url": "https://evil.example/",
    }
    failed = confirm({"reference": pay(sandbox, status="failed"), **claims})
    assert (failed.status_code, said(failed)["outcome"]) == (402, "not_paid")
    assert "evil" not in said(failed)["result_url"]
    assert not Good.objects.exists()


def test_a_reference_in_the_address_counts_for_nothing(sandbox: Sandbox) -> None:
    address = reverse("payments_pages:confirm") + f"?reference={pay(sandbox)}"
    answer = Client().post(address, b"{}", content_type="application/json")
    assert answer.status_code == 400


@pytest.mark.parametrize("secure", [False, True])
def test_c33_no_cookie_and_no_token_is_needed(sandbox: Sandbox, secure: bool) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = confirm_reference(pay(sandbox), client=client, secure=secure)
    assert (answer.status_code, said(answer)["outcome"]) == (200, "delivered")
    assert not answer.cookies
    assert not client.cookies


def test_c33_and_c08_a_session_adds_nothing_to_what_a_reference_may_do(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    assert confirm_reference(reference).status_code == 200
    signed_in = Client(enforce_csrf_checks=True)
    signed_in.force_login(User.objects.create_superuser("somebody"))
    headers = {"Origin": "https://elsewhere.example"}
    theirs = confirm({"reference": reference, "order": "O2"}, client=signed_in, headers=headers)
    anonymous = confirm_reference(reference)
    assert (theirs.status_code, said(theirs)) == (200, said(anonymous))
    assert not theirs.cookies
    assert Good.objects.count() == 1


def test_c49_a_site_that_wants_a_login_everywhere_lets_an_app_in(
    sandbox: Sandbox, settings: Any
) -> None:
    login = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, login]
    settings.LOGIN_URL = "/admin/login/"
    assert confirm_reference(pay(sandbox)).status_code == 200


def test_the_result_is_on_the_sites_own_address_not_the_requests(
    sandbox: Sandbox, configure: Any, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    reference = pay(sandbox)
    elsewhere = confirm_reference(reference, headers={"Host": "evil.example"})
    assert said(elsewhere)["result_url"].startswith("https://testserver/payments/result/")
    configure(SITE_URL=None)
    here = confirm_reference(reference, headers={"Host": "testserver"})
    assert said(here)["result_url"].startswith("http://testserver/payments/result/")


def test_c48_what_is_delivered_stays_so_while_the_service_is_down(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    confirm_reference(reference)
    sandbox.faults.add(operation="verify", kind="drop")
    for _time in range(3):
        let_time_pass(10 * 24 * 3600)
        assert confirm_reference(reference).status_code == 200
    assert sandbox.verify_calls() == 1


def test_other_clients_of_the_same_reference_share_the_answer(sandbox: Sandbox) -> None:
    reference = pay(sandbox, status="pending")
    answers = [confirm_reference(reference) for _time in range(5)]
    assert {answer.status_code for answer in answers} == {202}
    assert sandbox.verify_calls() == 1
