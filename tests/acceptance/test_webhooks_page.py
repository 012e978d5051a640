"""docs/webhooks.md: what is answered, what is delivered, and how the secret is changed."""

import os
import re
import time
from typing import Any

import pytest
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client

from payments_pages import testing
from payments_pages.management.commands.payments_pages_sandbox import Command
from payments_pages.models import Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.views.webhook import LIMIT
from tests.support.snippets import page_text, run_snippet
from tests.support.webhook_signing import SECRET, event, post, said

PAGE = "webhooks.md"

pytestmark = pytest.mark.django_db(transaction=True)


def take_over(settings: Any, name: str, **given: Any) -> None:
    """Let the site have the settings of a snippet."""
    names = run_snippet(PAGE, name, PAYMENTS_PAGES=dict(settings.PAYMENTS_PAGES), **given)
    settings.PAYMENTS_PAGES = names["PAYMENTS_PAGES"]


@pytest.mark.usefixtures("open_webhook")
def test_a_webhook_alone_delivers_a_page_with_a_price_of_its_own(
    tea_box: PaymentPage, sandbox: Sandbox, settings: Any
) -> None:
    held = sandbox.pay("tea-box")
    assert said(post(event(held))) == {"outcome": "held"}
    assert Fulfilment.objects.get().reason == "unattributed"
    take_over(settings, "attribution")
    assert said(post(event(sandbox.pay("tea-box")))) == {"outcome": "delivered"}
    testing.make_page(name="Other", amount=tea_box.amount)
    assert said(post(event(sandbox.pay("tea-box")))) == {"outcome": "held"}


def test_two_secrets_are_accepted_during_a_change(
    tea_box: PaymentPage, sandbox: Sandbox, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", "whsec_test_0002")
    monkeypatch.setenv("WEBHOOK_SECRET_BEFORE", SECRET)
    take_over(settings, "webhook")
    take_over(settings, "rotate", os=os)
    body = event(sandbox.pay("tea-box"))
    assert post(body).status_code == 200
    assert testing.send_webhook(sandbox.pay("tea-box")).status_code == 200
    assert post(body, signature="00" * 32).status_code == 401


def test_the_sandbox_sends_to_the_address_of_the_settings(
    settings: Any, live_server: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    take_over(settings, "webhook")
    take_over(settings, "local")
    parser = Command().create_parser("manage.py", "payments_pages_sandbox")
    options = vars(parser.parse_args([]))
    assert options["webhook_url"] == "http://127.0.0.1:8000/payments/webhook/"
    assert f"`{options['webhook_url']}`" in page_text(PAGE)
    sandbox.set_account(
        webhook_url=options["webhook_url"].replace("http://127.0.0.1:8000", live_server.url),
        webhook_header=options["webhook_header"],
        webhook_algorithm=options["webhook_algorithm"],
    )
    assert options["webhook_secret"] is None, "the secret key signs"
    closed_tab = testing.pay(sandbox, tea_box, returns=False)
    for _time in range(100):
        if not sandbox.deliveries:
            time.sleep(0.1)
    assert [delivery.status for delivery in sandbox.deliveries] == [200]
    assert closed_tab.outcome == "held", "nothing says which page it is for"


def answers(sandbox: Sandbox) -> dict[int, HttpResponse]:
    """Bring each status about."""
    found = [
        post(event(sandbox.pay("tea-box"))),
        post(b"no JSON"),
        post(event(sandbox.pay("tea-box")), signature="00" * 32),
        Client().get("/payments/webhook/"),
        post(b"x" * (LIMIT + 1)),
    ]
    sandbox.faults.add(operation="verify", kind="status", status=503)
    found.append(post(event(sandbox.pay("tea-box"))))
    return {answer.status_code: answer for answer in found}


@pytest.mark.usefixtures("open_webhook", "tea_box")
def test_the_table_of_answers_is_what_is_answered(sandbox: Sandbox) -> None:
    listed = [
        int(status) for status in re.findall(r"^\| (\d{3}) \|", page_text(PAGE), re.MULTILINE)
    ]
    assert listed == sorted(listed)
    assert set(listed) == set(answers(sandbox))
    assert f"{LIMIT // 1024} KiB" in page_text(PAGE)


@pytest.mark.usefixtures("open_webhook", "tea_box")
def test_without_a_good_signature_nothing_is_asked_and_nothing_written(sandbox: Sandbox) -> None:
    reference = sandbox.pay("tea-box")
    sandbox.requests.clear()
    assert post(event(reference), signature="00" * 32).status_code == 401
    assert sandbox.requests == []
    assert not Verification.objects.exists()


@pytest.mark.usefixtures("open_webhook", "tea_box")
def test_the_commands_of_the_page_post_a_signed_event(
    live_server: Any, configure: Any, sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.findall(
        r"^python manage\.py (payments_pages_webhook .+)$", page_text(PAGE), re.MULTILINE
    )
    assert len(lines) == 2
    configure(SITE_URL=live_server.url)
    for line in lines:
        name, *arguments = line.replace("https://shop.example", live_server.url).split()
        reference = sandbox.pay("tea-box")
        call_command(name, *(reference if word == "REFERENCE" else word for word in arguments))
        assert "answered 200" in capsys.readouterr().out
