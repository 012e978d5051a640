"""Callback and webhook, visited through the network, and all that may stand between."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.doctor import Health
from payments_pages.doctor.doors import callback, webhook
from payments_pages.sandbox import Sandbox
from tests.support.door_behaviour import pay
from tests.support.front import Front
from tests.support.webhook_signing import HEADER
from tests.unit.client.raw_server import RawServer, answer

pytestmark = pytest.mark.django_db(transaction=True)


def test_both_can_be_reached(site: str, sandbox: Sandbox) -> None:
    asked = len(sandbox.requests)
    assert callback().seen == f"Payers can come back to {site}/payments/callback/."
    assert webhook().seen == (
        f"{site}/payments/webhook/ takes a signed event and refuses an unsigned one."
    )
    assert len(sandbox.requests) == asked


@pytest.mark.usefixtures("site")
def test_a_dead_address_is_told_of_both(configure: Any, dead: str) -> None:
    configure(SITE_URL=dead)
    for look in (callback, webhook):
        found = look()
        assert found.health is Health.WRONG
        assert found.seen.endswith("gives no answer to this machine. It could not be reached.")


@pytest.mark.usefixtures("site")
def test_a_connection_that_breaks_is_told_of_this_site_and_not_of_the_service(
    configure: Any,
) -> None:
    with RawServer(answer(b"")) as server:
        configure(SITE_URL=f"http://127.0.0.1:{server.port}", READ_TIMEOUT=0.5)
        seen = webhook().seen
    assert seen.endswith("gives no answer to this machine. It did not answer in time.")
    with RawServer(lambda _server, connection: connection.shutdown(socket.SHUT_RDWR)) as server:
        configure(SITE_URL=f"http://127.0.0.1:{server.port}")
        assert callback().seen.endswith("gives no answer to this machine. The connection broke.")


@pytest.mark.usefixtures("site")
def test_without_an_address_nothing_is_known(configure: Any) -> None:
    configure(SITE_URL=None)
    for look in (callback, webhook):
        assert look().health is Health.UNKNOWN


@pytest.mark.parametrize("status", [200, 400, 403, 404, 500])
def test_another_program_at_the_address_is_told_of_both(
    site: str, configure: Any, status: int
) -> None:
    with Front(answers=(status, "<h1>Another</h1>")) as front:
        configure(SITE_URL=front.url)
        for look in (callback, webhook):
            found = look()
            assert found.health is Health.WRONG
            assert f"answers {status}, and not by payments_pages" in found.seen


def test_a_host_that_django_refuses_is_told(site: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["shop.example.com"]
    assert "ALLOWED_HOSTS" in callback().advice
    assert webhook().health is Health.WRONG


def test_a_redirect_loses_the_event_and_not_the_payer(site: str, configure: Any) -> None:
    with Front(redirects_to=site) as front:
        configure(SITE_URL=front.url)
        payers, events = callback(), webhook()
    assert payers.health is Health.WARNING
    assert payers.seen.endswith(f"redirects payers to {site}/payments/callback/.")
    assert events.health is Health.WRONG
    assert events.seen.endswith(
        f"redirects to {site}/payments/webhook/: a redirect loses the event."
    )


def test_a_redirect_that_drops_the_reference_loses_the_payer(site: str, configure: Any) -> None:
    with Front(redirects_to=site, query=False) as front:
        configure(SITE_URL=front.url)
        found = callback()
    assert (found.health, "loses the payment's reference" in found.seen) == (Health.WRONG, True)


def test_a_proxy_that_eats_the_signatures_header_is_told(site: str, configure: Any) -> None:
    with Front(site, removes=[HEADER]) as front:
        configure(SITE_URL=front.url)
        assert callback().health is Health.RIGHT
        found = webhook()
    assert found.health is Health.WRONG
    assert f"The header {HEADER} of a signed event does not reach" in found.seen
    assert "pass the header on" in found.advice


def test_a_header_with_an_underscore_is_told_as_what_servers_drop(
    site: str, configure: Any
) -> None:
    configure(WEBHOOK_HEADER="x_lahza_signature")
    found = webhook()
    assert (found.health, "underscore" in found.advice) == (Health.WRONG, True)


def test_a_proxy_that_changes_nothing_is_right(site: str, configure: Any) -> None:
    with Front(site) as front:
        configure(SITE_URL=front.url)
        assert callback().health is webhook().health is Health.RIGHT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "seen"),
    [
        ({"WEBHOOK_HEADER": "X-Another-Signature"}, "does not reach"),
        ({"WEBHOOK_SECRETS": ["whsec_another_0001"]}, "refuses an event that is signed"),
        ({"WEBHOOK_ALGORITHM": "sha512"}, "refuses an event that is signed"),
    ],
)
def test_a_site_that_runs_with_other_settings_is_told(
    site: str,
    configure: Any,
    child_environment: Callable[[], dict[str, str]],
    other: dict[str, Any],
    seen: str,
) -> None:
    """As when its processes were not restarted: the doctor is another process."""
    configure(**other)
    environment = child_environment()
    configure(
        WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=("whsec_new_0001",)
    )
    done = subprocess.run(
        [sys.executable, "-m", "django", "payments_pages_doctor", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    lines = {line["name"]: line for line in json.loads(done.stdout)["lines"]}
    assert lines["callback"]["health"] == "right"
    assert lines["webhook"]["health"] == "wrong"
    assert seen in lines["webhook"]["seen"]
    assert "Restart every process" in lines["webhook"]["advice"]
    assert "whsec" not in done.stdout + done.stderr


@pytest.mark.parametrize("keys", [{"WEBHOOK_HEADER": None}, {"WEBHOOK_ALGORITHM": None}])
def test_a_closed_webhook_is_no_fault(site: str, configure: Any, keys: dict[str, Any]) -> None:
    configure(**keys)
    found = webhook()
    assert found.health is Health.WARNING
    assert "does not come back" in found.seen
    assert f"{site}/payments/webhook/" in found.advice


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        ({"WEBHOOK_HEADER": "X Lahza: Signature"}, "not the name of a header"),
        ({"WEBHOOK_SECRETS": ()}, "is empty"),
        ({"WEBHOOK_SECRETS": lambda: 1 / 0}, "ZeroDivisionError"),
    ],
)
def test_settings_that_cannot_sign_are_told(
    site: str, configure: Any, keys: dict[str, Any], seen: str
) -> None:
    configure(**keys)
    found = webhook()
    assert (found.health, seen in found.seen) == (Health.WRONG, True)


def test_a_webhook_that_takes_everything_is_told(site: str, configure: Any) -> None:
    with Front(answers=(200, '{"outcome": "ignored"}')) as front:
        configure(SITE_URL=front.url)
        assert "takes an event without a signature" in webhook().seen


def test_secrets_that_the_site_cannot_read_are_told(site: str, configure: Any) -> None:
    with Front(answers=(503, '{"outcome": "unavailable"}')) as front:
        configure(SITE_URL=front.url)
        assert "webhook.no_secrets" in webhook().advice


def test_a_webhook_that_the_service_never_uses_is_a_warning(site: str, sandbox: Sandbox) -> None:
    """As when the header's name is not the service's: each of its events was refused."""
    confirm_payment(pay(sandbox), door=Door.CALLBACK)
    found = webhook()
    assert found.health is Health.WARNING
    assert "But of the last 1 payment the service has announced none by it." in found.seen
    assert HEADER in found.advice
    confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    assert webhook().seen.endswith("Of the last 2 payments it announced 1.")
