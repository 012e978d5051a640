"""A key that cannot be read is our trouble: the payer comes again, and the alarm quotes nothing."""

import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, Outcome, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.credentials import read_key, read_secrets
from payments_pages.exceptions import ConfigurationError, NotAsked, UnusableKey
from payments_pages.models import PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import KEY
from tests.support.goods.models import Good
from tests.support.webhook_signing import HEADER, SECRET, event, post, said

pytestmark = pytest.mark.django_db

on_commit = pytest.mark.django_db(transaction=True)


def sealed() -> str:
    raise TimeoutError("vault LEAKME.example with token LEAKME")


WAYS: dict[str, Callable[[], Any]] = {
    "raises": sealed,
    "gives no text": lambda: b"sk_test_LEAKME",
    "gives nothing": lambda: None,
    "gives blanks": lambda: " \n",
    "gives two lines": lambda: "sk_test_LEAKME\nX-Evil: 1",
}
every_way = pytest.mark.parametrize("key", WAYS.values(), ids=WAYS)


@pytest.fixture(autouse=True)
def signed(configure: Any) -> None:
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))


@pytest.fixture
def alarms(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The names of the records at CRITICAL; nothing of the key or the vault in any record."""

    def read() -> list[str]:
        assert "LEAKME" not in caplog.text
        assert not any("LEAKME" in repr(vars(record)) for record in caplog.records)
        critical = [record for record in caplog.records if record.levelno == logging.CRITICAL]
        return [record.getMessage().partition(":")[0] for record in critical]

    return read


@every_way
@pytest.mark.parametrize("mode", ["test", None])
def test_no_door_answers_500_when_the_key_cannot_be_read(
    key: Any, mode: str | None, tea_box: PaymentPage, sandbox: Sandbox, client: Client,
    configure: Any, come_back: Any, alarms: Callable[[], list[str]],
) -> None:  # fmt: skip
    configure(SECRET_KEY=key, MODE=mode)
    sandbox.pay("tea-box", reference="PPG-1")
    landed = come_back("PPG-1", tea_box)
    assert landed.status_code == 200
    assert "cannot confirm" in landed.content.decode()
    confirmed = client.post(
        reverse("payments_pages:confirm"), {"reference": "PPG-2"}, content_type="application/json"
    )
    assert (confirmed.status_code, said(confirmed)["outcome"]) == (503, "unavailable")
    told = post(event("PPG-3"), client=client)
    assert (told.status_code, said(told)["outcome"]) == (503, "unavailable")
    assert told["Retry-After"]
    assert sandbox.verify_calls() == 0
    name = "confirmation.unanswered" if mode else "confirmation.no_mode"
    assert alarms() == [name] * 3


@on_commit
def test_what_came_while_the_vault_was_away_is_delivered_by_the_sweep(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, come_back: Any
) -> None:
    configure(SECRET_KEY=sealed, MODE="test")
    sandbox.pay("tea-box", reference="PPG-1")
    come_back("PPG-1", tea_box)
    row = Verification.objects.get()
    assert row.state == VerificationState.DUE
    assert row.last_error == (
        "UnusableKey: The secret key could not be read: its callable raised TimeoutError."
    )
    assert sweep_due().outcomes == {}, "it is not due yet"
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.UNAVAILABLE: 1}
    configure(SECRET_KEY=lambda: KEY)
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1


def test_what_is_settled_needs_no_key(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    token = tea_box.token
    assert confirm_payment("PPG-1", door=Door.CALLBACK, page_token=token).outcome == "delivered"
    configure(SECRET_KEY=sealed, MODE="test")
    again = confirm_payment("PPG-1", door=Door.CALLBACK, page_token=token)
    assert again.outcome is Outcome.ALREADY_DELIVERED


def test_a_handlers_error_is_noted_even_while_the_key_cannot_be_read(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    """Its text is searched for the key, which is gone by then."""
    keys = iter([KEY])
    configure(
        SECRET_KEY=lambda: next(keys),
        MODE="test",
        HANDLER="tests.reliability.crash.handlers.decline",
    )
    sandbox.pay("tea-box", reference="PPG-1")
    found = confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERY_FAILED


@every_way
def test_webhook_secrets_that_cannot_be_read_are_503_and_an_alarm(
    key: Any, sandbox: Sandbox, configure: Any, alarms: Callable[[], list[str]]
) -> None:
    configure(WEBHOOK_SECRETS=None, SECRET_KEY=key, MODE="test")
    told = post(event("PPG-1"))
    if told.status_code == 401:  # texts that no signature of ours was made with
        assert isinstance(key(), str)
        return
    assert (told.status_code, said(told)["outcome"]) == (503, "unavailable")
    assert alarms() == ["webhook.no_secrets"]
    assert not Verification.objects.exists()


@pytest.mark.parametrize("given", [SECRET, (f" {SECRET}\n", "older"), ["other", SECRET]])
def test_webhook_secrets_may_come_from_a_callable(
    given: Any, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(WEBHOOK_SECRETS=lambda: given)
    sandbox.pay("tea-box", reference="PPG-1")
    assert post(event("PPG-1")).status_code == 200


@every_way
def test_the_failure_is_of_both_kinds_and_quotes_nothing(key: Any) -> None:
    with pytest.raises(UnusableKey) as caught:
        read_key(key)
    assert isinstance(caught.value, ConfigurationError)
    assert isinstance(caught.value, NotAsked)
    assert caught.value.retryable
    assert caught.value.__context__ is None
    assert "LEAKME" not in repr(caught.value)


def test_nobody_else_than_the_vault_is_stopped() -> None:
    """Ctrl-C and a worker's end are no failures of the key."""

    def interrupted() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_key(interrupted)


@pytest.mark.parametrize("given", [None, b"whsec", [b"whsec"], [None], 7, {"a": 1}])
def test_secrets_that_are_no_texts_are_refused(given: Any) -> None:
    with pytest.raises(UnusableKey):
        read_secrets(lambda: given)


@pytest.mark.parametrize("place", [0, 1])
def test_s14_a_secret_that_is_no_utf8_is_unusable_and_in_no_frame(
    place: int, sandbox: Sandbox, configure: Any, alarms: Callable[[], list[str]]
) -> None:
    """As `os.environ` holds bytes that are not UTF-8."""
    bad = b"LEAKME-\xff".decode("utf-8", "surrogateescape")
    secrets = [SECRET, SECRET]
    secrets[place] = bad
    with pytest.raises(UnusableKey) as caught:
        read_secrets(lambda: secrets)
    assert caught.value.__context__ is None
    trace = caught.value.__traceback__
    while trace is not None:
        if "/tests/" not in trace.tb_frame.f_code.co_filename:
            assert "LEAKME" not in repr(trace.tb_frame.f_locals)
        trace = trace.tb_next
    configure(WEBHOOK_SECRETS=secrets)
    assert post(event("PPG-1")).status_code == 503
    assert alarms() == ["webhook.no_secrets"]


def test_the_mode_of_a_key_that_cannot_be_read_is_unknown(configure: Any) -> None:
    configure(SECRET_KEY=sealed)
    with pytest.raises(UnusableKey):
        _ = conf.mode
    configure(MODE="live")
    assert conf.mode == "live"


def test_the_test_webhook_command_says_it_in_words(configure: Any) -> None:
    configure(WEBHOOK_SECRETS=sealed)
    with pytest.raises(CommandError, match="could not be read: its callable raised TimeoutError"):
        call_command("payments_pages_webhook", "PPG-1")


@pytest.mark.slow
def test_no_check_asks_a_vault(tmp_path: Any) -> None:
    """`manage.py check --deploy` starts where the vault is away, and says to set MODE."""
    (tmp_path / "sealed_settings.py").write_text(
        "from tests.support.settings import *\n"
        "def sealed(): raise TimeoutError('LEAKME')\n"
        'PAYMENTS_PAGES |= {"SECRET_KEY": sealed, "WEBHOOK_SECRETS": sealed}\n'
        # The tests' mailbox, an error to Django from 6.1 on.
        'SILENCED_SYSTEM_CHECKS = ["mail.E001"]\n'
    )
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1));"
        "from django.core.management import execute_from_command_line as run;"
        "run(['manage.py', 'check', '--deploy', '--settings=sealed_settings'])"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "payments_pages.W007" in done.stderr
    assert "LEAKME" not in done.stderr + done.stdout
