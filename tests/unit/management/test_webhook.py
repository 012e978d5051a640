"""The command that signs and sends one webhook to this site."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments_pages.models import Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("open_webhook", "tea_box"),
]


@pytest.fixture
def site(live_server: Any, configure: Any, open_webhook: None) -> str:
    configure(SITE_URL=live_server.url)
    return str(live_server.url)


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("payments_pages_webhook", *arguments, stdout=out)
    return out.getvalue()


def test_it_signs_and_posts_to_this_site(site: str, sandbox: Sandbox) -> None:
    url = f"{site}/payments/webhook/"
    assert run(pay(sandbox)) == f'{url} answered 200: {{"outcome": "delivered"}}\n'
    assert Good.objects.count() == 1


def test_it_delivers_nothing_that_the_service_does_not_call_paid(
    site: str, sandbox: Sandbox
) -> None:
    for reference in ("MADE-UP", pay(sandbox, status="failed")):
        with pytest.raises(CommandError, match="did not accept"):
            run(reference)
    assert not Good.objects.exists()


def test_it_sends_a_refund_as_the_service_would(site: str, sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    run(reference)
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(60)
    assert "already_delivered" in run(reference, "--event", "refund.processed")
    assert Transaction.objects.get().status == "reversed"


def test_it_fails_when_the_webhook_does_not_take_it(
    site: str, sandbox: Sandbox, configure: Any
) -> None:
    sandbox.faults.add(operation="verify", kind="drop")
    out = io.StringIO()
    with pytest.raises(CommandError, match="did not accept"):
        call_command("payments_pages_webhook", pay(sandbox), stdout=out)
    assert "answered 503" in out.getvalue()


def test_it_says_when_the_site_is_not_there(site: str, sandbox: Sandbox) -> None:
    with pytest.raises(CommandError, match="cannot be reached"):
        run("PPG-1", "--url", "http://127.0.0.1:9/webhook/")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"WEBHOOK_HEADER": None}, "Set WEBHOOK_HEADER"),
        ({"WEBHOOK_ALGORITHM": "md5"}, "WEBHOOK_ALGORITHM"),
        ({"WEBHOOK_SECRETS": ()}, "WEBHOOK_SECRETS is empty"),
        ({"SITE_URL": None}, "Set SITE_URL"),
    ],
)
def test_it_says_which_setting_is_missing(
    site: str, sandbox: Sandbox, configure: Any, keys: dict[str, Any], message: str
) -> None:
    configure(**keys)
    with pytest.raises(CommandError, match=message):
        run("PPG-1")


def test_it_refuses_what_is_no_reference(site: str, sandbox: Sandbox) -> None:
    with pytest.raises(CommandError, match="not a payment reference"):
        run("a/b")
