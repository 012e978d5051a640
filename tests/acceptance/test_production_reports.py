"""The page about production: logs are lines of JSON, and no report of an error has a payer in it."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.core import mail
from django.core.checks import run_checks
from django.test import Client
from django.utils.log import AdminEmailHandler
from django.views.debug import ExceptionReporter

from payments_pages import testing
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from tests.conftest import KEY
from tests.support.goods.models import Good
from tests.support.guide_pages import GuidePage, shop_in

PAGE = GuidePage("production.md")
ADMIN = "admin@shop.example"
PAYER = "noor.payer@example.test"

HANDLER = """
def deliver(fulfilment):
    email = fulfilment.transaction.customer_email
    try:
        raise ValueError("no such row: " + email)
    except ValueError as error:
        raise RuntimeError("cannot write to " + email) from error
"""
VIEWS = """
from django.urls import include, path

def fail(request):
    note = request.GET.get("q", "")
    raise RuntimeError("nobody is called " + note)

urlpatterns = [path("payments/", include("payments_pages.urls")), path("people/", fail)]
"""


@pytest.fixture
def shop(settings: Any, configure: Any, tmp_path: Path) -> Iterator[None]:
    """A shop whose handler fails, with the page's modules and its logging."""
    with shop_in(tmp_path):
        for name in ("lines", "reports"):
            (tmp_path / "shop" / f"{name}.py").write_text(PAGE.snippet(name))
        (tmp_path / "shop" / "handlers.py").write_text(HANDLER)
        (tmp_path / "shop" / "urls.py").write_text(VIEWS)
        yield from logging_of_the_page(settings, configure)


def logging_of_the_page(settings: Any, configure: Any) -> Iterator[None]:
    settings.ADMINS = [ADMIN if django.VERSION >= (6, 0) else ("admin", ADMIN)]
    settings.ROOT_URLCONF = "shop.urls"
    configure(HANDLER="shop.handlers.deliver", SECRET_KEY=KEY)
    handlers, level = logging.root.handlers[:], logging.root.level
    ours = logging.getLogger("payments_pages")
    kept, kept_level = ours.handlers[:], ours.level
    names = PAGE.run("logging")
    settings.DEFAULT_EXCEPTION_REPORTER = names["DEFAULT_EXCEPTION_REPORTER"]
    logging.config.dictConfig(names["LOGGING"])
    yield
    logging.root.handlers[:], ours.handlers[:] = handlers, kept
    logging.root.setLevel(level)
    ours.setLevel(kept_level)


def everything_sent() -> str:
    """All that the mails to the administrators say, as text and as HTML."""
    pages = [
        str(body) for message in mail.outbox for body, _kind in getattr(message, "alternatives", [])
    ]
    assert pages, "no mail has HTML, in which Django shows variables"
    return "\n".join([*(f"{one.subject}\n{one.body}" for one in mail.outbox), *pages])


@pytest.mark.django_db(transaction=True)
def test_a_failed_delivery_is_mailed_without_the_payer(
    shop: None, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    visit = testing.pay(sandbox, tea_box, email=PAYER)
    assert visit.outcome == "delivery_failed"
    sent = everything_sent()
    assert "fulfilment.failed" in sent
    assert "in deliver" in sent
    assert visit.reference in sent
    assert "<pre>&#x27;Fulfilment&#x27;</pre>" in sent  # the type of a variable
    for secret in (PAYER, "noor.payer", KEY):
        assert secret not in sent


@pytest.mark.django_db(transaction=True)
def test_without_the_class_the_payer_is_in_the_mail(
    shop: None, sandbox: Sandbox, tea_box: PaymentPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the test above can fail: what Django sends by itself has the variables of the handler."""
    handlers = logging.getLogger("payments_pages").handlers
    (mails,) = [one for one in handlers if isinstance(one, AdminEmailHandler)]
    monkeypatch.setattr(mails, "reporter_class", ExceptionReporter)
    testing.pay(sandbox, tea_box, email=PAYER)
    assert PAYER in everything_sent()


def test_an_error_of_a_view_is_mailed_without_its_query_and_its_text(
    shop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = logging.getLogger("django").handlers
    (mails,) = [one for one in handlers if isinstance(one, AdminEmailHandler)]
    # Made when Django started, before this test's settings: make it anew with the page's.
    monkeypatch.setattr(mails, "reporter_class", AdminEmailHandler().reporter_class)
    monkeypatch.setattr(mails, "include_html", True)
    client = Client(raise_request_exception=False)
    client.cookies["who"] = "noor-cookie"
    assert client.get("/people/", {"q": PAYER}).status_code == 500
    sent = everything_sent()
    assert "in fail" in sent
    assert "/people/" in sent
    for secret in (PAYER, "noor-cookie", "noor.payer"):
        assert secret not in sent


@pytest.mark.django_db(transaction=True)
def test_each_record_is_a_line_of_json_with_its_facts(
    shop: None, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    (console,) = [one for one in logging.root.handlers if one.formatter is not None
                  and type(one.formatter).__name__ == "JsonLines"]  # fmt: skip
    assert isinstance(console, logging.StreamHandler)
    stream = io.StringIO()
    console.setStream(stream)
    reference = testing.pay(sandbox, tea_box, email=PAYER).reference
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    (failed,) = [line for line in lines if line["message"].startswith("fulfilment.failed")]
    assert (failed["level"], failed["logger"]) == ("ERROR", "payments_pages.fulfilment")
    assert (failed["reference"], failed["attempt"], failed["door"]) == (reference, 1, "callback")
    assert "in deliver" in failed["stack"]
    assert "payment.recorded" in {line["message"].split(":")[0] for line in lines}
    assert PAYER not in stream.getvalue()


def test_a_tracker_gets_places_and_types() -> None:
    frame = {"function": "deliver", "lineno": 4, "vars": {"email": f"'{PAYER}'"}}
    stack = {"frames": [dict(frame)]}
    event = {
        "level": "error",
        "request": {"method": "POST", "url": "https://shop.example/x", "data": {"email": PAYER},
                    "query_string": f"q={PAYER}", "cookies": {"who": "noor"}},
        "user": {"email": PAYER},
        "extra": {"payment": PAYER},
        "breadcrumbs": {"values": [{"message": PAYER}]},
        "exception": {"values": [{"type": "ValueError", "value": PAYER, "stacktrace": stack}]},
        "threads": {"values": [{"id": 1, "stacktrace": {"frames": [dict(frame)]}}]},
        "stacktrace": {"frames": [dict(frame)]},
    }  # fmt: skip
    scrubbed = PAGE.run("scrub")["scrub"](event, {})
    assert "noor" not in json.dumps(scrubbed)
    assert scrubbed["exception"]["values"][0]["type"] == "ValueError"
    assert scrubbed["exception"]["values"][0]["stacktrace"]["frames"] == [
        {"function": "deliver", "lineno": 4}
    ]
    assert scrubbed["request"] == {"method": "POST"}
    assert PAGE.run("scrub")["scrub"]({"message": "hello"})["message"] == "hello"


@pytest.mark.django_db(transaction=True)
def test_staff_read_the_error_s_own_text_without_the_payer(
    shop: None, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    testing.pay(sandbox, tea_box, email=PAYER)
    text = Fulfilment.objects.get().last_error
    assert "cannot write to" in text
    assert PAYER not in text


# The shared cache


def cache(settings: Any, **options: Any) -> None:
    settings.CACHES = PAGE.run("cache")["CACHES"]
    settings.CACHES["default"].update(options)


@pytest.mark.django_db
def test_the_cache_is_one_that_all_processes_share(settings: Any) -> None:
    def warned() -> bool:
        found = run_checks(include_deployment_checks=True)
        return "payments_pages.W006" in {message.id for message in found}

    assert warned()
    cache(settings)
    assert not warned()


@pytest.mark.django_db(transaction=True)
def test_a_payer_is_served_while_the_cache_is_down(
    settings: Any, sandbox: Sandbox, tea_box: PaymentPage, caplog: pytest.LogCaptureFixture
) -> None:
    cache(settings, LOCATION="redis://127.0.0.1:9/1")
    testing.pay(sandbox, tea_box)
    assert Good.objects.count() == 1
    testing.come_back("MADE-UP")
    assert "budgets.cache_failed" in caplog.text
