"""The webhook lets in what is signed over the bytes that arrived, and nothing else."""

import logging
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from payments_pages.models import PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.signatures import sign
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good
from tests.support.webhook_signing import HEADER, SECRET, event, post, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("open_webhook")]

RAW = (
    rb'{ "data" : {"reference":"PPG-1030", "amount":10000.0,"u":"a\/b"},'
    b'\n "event":"charge.success" }\n'
)
RAW_SHA256 = "fa025f9ed8fb87423703a6b03a21c6a7aded8d9db62b6f277ad921f63e84bfd0"


def nothing_happened(sandbox: Sandbox) -> bool:
    return not (sandbox.verify_calls() or Verification.objects.exists() or Good.objects.exists())


def test_c29_the_bytes_that_arrived_are_what_is_signed(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    pay(sandbox, reference="PPG-1030")
    compact = event("PPG-1030", amount=10000.0, u="a/b")
    for body in (compact, RAW + b"\n", RAW[:-1], RAW.replace(b" ", b"")):
        assert post(body, signature=RAW_SHA256).status_code == 401
    assert nothing_happened(sandbox)
    assert post(RAW, signature=RAW_SHA256).status_code == 200
    assert sandbox.verify_calls("PPG-1030") == Good.objects.count() == 1


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "text/plain",
        "text/plain; charset=windows-1256",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "",
    ],
)
def test_c29_the_content_type_changes_nothing(
    tea_box: PaymentPage, sandbox: Sandbox, content_type: str
) -> None:
    pay(sandbox, reference="PPG-1030")
    answer = post(RAW, signature=RAW_SHA256, content_type=content_type)
    assert (answer.status_code, said(answer)) == (200, {"outcome": "delivered"})


class TouchPost:
    """A middleware that looks into every form before the view does."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        request.seen = dict(request.POST)
        return self.get_response(request)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/x-www-form-urlencoded", 200),
        # Its bytes are gone: refused, so that it is sent again and noticed.
        ("multipart/form-data; boundary=x", 400),
    ],
)
def test_c29_a_middleware_that_reads_the_form_first_breaks_nothing(
    tea_box: PaymentPage, sandbox: Sandbox, settings: Any, content_type: str, status: int
) -> None:
    settings.MIDDLEWARE = [f"{__name__}.TouchPost", *settings.MIDDLEWARE]
    pay(sandbox, reference="PPG-1030")
    answer = post(RAW, signature=RAW_SHA256, content_type=content_type)
    assert answer.status_code == status
    assert Good.objects.count() == (status == 200)


@pytest.mark.parametrize("name", [HEADER, HEADER.lower(), HEADER.upper(), "x-LAHZA-signature"])
@pytest.mark.parametrize("configured", [HEADER, HEADER.lower(), HEADER.upper()])
def test_c31_the_header_is_found_however_it_is_written(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, name: str, configured: str
) -> None:
    configure(WEBHOOK_HEADER=configured)
    assert post(event(pay(sandbox)), header=name).status_code == 200
    assert Good.objects.count() == 1


BODY = event("PPG-1010", status="success", amount=10000, currency="ILS")
GOOD = sign(BODY, SECRET, "sha256")


@pytest.mark.parametrize(
    "signature",
    [
        "",
        " ",
        "nonsense",
        f"sha256={GOOD}",
        GOOD[:-1],
        GOOD + "0",
        sign(BODY, "another secret", "sha256"),
        sign(BODY, "sk_test_suite", "sha256"),
        sign(BODY, SECRET, "sha512"),
        "é" * 64,
    ],
)
def test_c10_and_c31_what_is_not_signed_by_us_and_the_service_is_refused(
    tea_box: PaymentPage, sandbox: Sandbox, signature: str
) -> None:
    pay(sandbox, reference="PPG-1010")
    answer = post(BODY, signature=signature)
    assert answer.status_code == 401
    told = {} if signature else {"detail": "no signature"}
    assert said(answer) == {"outcome": "unsigned", **told}
    assert nothing_happened(sandbox)


def test_c31_an_address_that_the_sender_claims_opens_nothing(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    pay(sandbox, reference="PPG-1010")
    claims = {"X-Forwarded-For": "192.0.2.10", "X-Real-IP": "192.0.2.10", "Forwarded": "for=x"}
    answer = post(BODY, signature="", headers=claims, REMOTE_ADDR="192.0.2.10")
    assert answer.status_code == 401
    assert nothing_happened(sandbox)


def test_c31_a_signature_in_the_address_or_another_header_is_none(sandbox: Sandbox) -> None:
    assert post(BODY, header="X-Other-Signature").status_code == 401
    address = f"{reverse('payments_pages:webhook')}?{HEADER}={GOOD}"
    assert Client().post(address, BODY, content_type="application/json").status_code == 401
    assert nothing_happened(sandbox)


@pytest.mark.parametrize(
    "closed",
    [
        {"WEBHOOK_HEADER": None},
        {"WEBHOOK_HEADER": ""},
        {"WEBHOOK_ALGORITHM": None},
        {"WEBHOOK_ALGORITHM": "md5"},
        {"WEBHOOK_ALGORITHM": "SHA256"},
        {"WEBHOOK_SECRETS": ()},
        {"WEBHOOK_SECRETS": ("", " ")},
    ],
)
def test_c31_until_it_is_configured_everything_is_refused_and_the_log_says_why(
    sandbox: Sandbox,
    configure: Any,
    caplog: pytest.LogCaptureFixture,
    closed: dict[str, Any],
) -> None:
    configure(**closed)
    of_blank = sign(BODY, "", "sha256")
    for signature in (GOOD, of_blank, ""):
        assert post(BODY, signature=signature).status_code == 401
    lines = [line for line in caplog.records if line.name == "payments_pages.webhook"]
    assert len(lines) == 3
    assert all(line.levelno == logging.ERROR for line in lines)
    assert all("WEBHOOK_" in line.getMessage() for line in lines)
    assert nothing_happened(sandbox)


def test_the_secret_key_signs_when_no_other_secret_is_set(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(WEBHOOK_SECRETS=None)
    body = event(pay(sandbox))
    assert post(body).status_code == 401
    assert post(body, signature=sign(body, "sk_test_suite", "sha256")).status_code == 200


def test_the_old_secret_goes_on_working_during_a_rotation(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    body = event(pay(sandbox))
    configure(WEBHOOK_SECRETS=["whsec_test_0002"])
    assert post(body).status_code == 401
    configure(WEBHOOK_SECRETS=[" whsec_test_0002\n", f"{SECRET}\n"])
    assert post(body).status_code == 200
    again = sign(body, "whsec_test_0002", "sha256")
    assert post(body, signature=again).status_code == 200


def test_sha512_is_taken_when_it_is_set(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(WEBHOOK_ALGORITHM="sha512")
    body = event(pay(sandbox))
    assert post(body, signature=sign(body, SECRET, "sha256")).status_code == 401
    assert post(body, signature=sign(body, SECRET, "sha512")).status_code == 200


def test_the_log_names_no_secret_and_no_signature(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    right = sign(BODY, SECRET, "sha256")
    for signature in ("", right[:-1] + "x", right):
        post(BODY, signature=signature)
    text = "\n".join([caplog.text, *(str(record.__dict__) for record in caplog.records)])
    assert SECRET not in text
    assert right[:-1] not in text
    assert "sk_test_suite" not in text


@pytest.mark.parametrize("length", [256 * 1024 + 1, 10**12])
def test_what_calls_itself_too_large_is_refused_without_reading_it(
    sandbox: Sandbox, length: int
) -> None:
    class Untouchable:
        def read(self, *_size: int) -> bytes:
            raise AssertionError("the body was read")

        readline = read

    from payments_pages.views import webhook

    request = RequestFactory().post(reverse("payments_pages:webhook"))
    request.META["CONTENT_LENGTH"] = str(length)
    request._stream = Untouchable()
    answer = webhook(request)
    assert (answer.status_code, said(answer)["outcome"]) == (413, "invalid")
    assert nothing_happened(sandbox)


def test_a_large_event_is_taken_up_to_the_limit(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    body = event(pay(sandbox), padding="x" * 250_000)
    assert len(body) < 256 * 1024
    assert post(body).status_code == 200
    assert post(event("PPG-1", padding="x" * 262_200)).status_code == 413


def test_the_sites_own_lower_limit_is_answered_413_too(sandbox: Sandbox, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert post(event("PPG-1", padding="x" * 2000)).status_code == 413


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options"])
def test_only_a_post_is_an_event(sandbox: Sandbox, method: str) -> None:
    answer = getattr(Client(), method)(reverse("payments_pages:webhook"))
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert nothing_happened(sandbox)
