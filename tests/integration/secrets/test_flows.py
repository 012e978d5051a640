"""Whatever goes right or wrong on a way through the site, no secret is told (case C19)."""

import io
import logging
import traceback
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import models
from django.db.migrations.state import ModelState
from django.test import Client
from django.urls import NoReverseMatch, reverse

from payments_pages.choices import Door
from payments_pages.client import get_client
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.exceptions import ConfigurationError, PaymentsPagesError
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.signatures import sign
from payments_pages.testing import let_time_pass
from tests.support.leak_detector import CODE, KEY, PAYER, Watch
from tests.support.webhook_signing import HEADER, event, post

FAULTS: list[dict[str, Any]] = [
    {"kind": "hang", "seconds": 5},
    {"kind": "drop"},
    {"kind": "drop", "after": "headers", "reset": True},
    {"kind": "html", "text": f"<html>{KEY} {CODE} {PAYER}</html>"},
    {"kind": "status", "status": 401, "body": {"status": False, "message": f"Bad key {KEY}"}},
    {
        "kind": "status",
        "status": 400,
        "body": {"status": False, "message": f"{KEY} {CODE} {PAYER}"},
    },
    {"kind": "status", "status": 404, "body": {"status": False, "message": f"{KEY} {PAYER}"}},
    {"kind": "raw", "body": f'{{"status": true, "data": "{CODE}'},
    {"kind": "truncated"},
    {"kind": "redirect", "location": f"http://127.0.0.1:9/{KEY}"},
    {"kind": "wrong_reference"},
    {"kind": "drip", "seconds": 0.2},
]


def fault_id(fault: dict[str, Any]) -> str:
    return f"{fault['kind']}-{fault.get('status', '')}"


@pytest.fixture
def hurried(configure: Any) -> None:
    configure(DEADLINE=0.4)


def visit(reference: str, page: PaymentPage, client: Client, watch: Watch) -> Any:
    address = reverse("payments_pages:page-callback", args=[page.token])
    return watch.answer(client.get(address, {"reference": reference}))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", FAULTS, ids=fault_id)
def test_a_service_that_fails(
    fault: dict[str, Any],
    watch: Watch,
    reference: str,
    tea_box: PaymentPage,
    sandbox: Sandbox,
    client: Client,
) -> None:
    sandbox.faults.add(operation="verify", **fault)
    assert visit(reference, tea_box, client, watch).status_code in {200, 404}
    assert Verification.objects.get().last_error
    assert not Fulfilment.objects.exists()


def test_a_tls_handshake_that_fails(
    watch: Watch,
    reference: str,
    tea_box: PaymentPage,
    sandbox: Sandbox,
    client: Client,
    configure: Any,
) -> None:
    configure(BASE_URL=sandbox.base_url.replace("http://", "https://"), DEADLINE=2)
    assert visit(reference, tea_box, client, watch).status_code == 200
    assert "TLS" in Verification.objects.get().last_error


def test_a_payment_through_every_door(
    watch: Watch, reference: str, tea_box: PaymentPage, client: Client, configure: Any
) -> None:
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256")
    response = visit(reference, tea_box, client, watch)
    assert response.status_code == 303
    watch.answer(client.get(response["Location"]))
    watch.answer(client.get(f"{response['Location']}status/"))
    body = event(reference, authorization={"authorization_code": CODE})
    assert watch.answer(post(body, signature=sign(body, KEY, "sha256"))).status_code == 200
    assert watch.answer(post(body, signature="0" * 64)).status_code == 401
    assert (
        watch.answer(post(KEY.encode(), signature=sign(KEY.encode(), KEY, "sha256"))).status_code
        == 400
    )
    confirmed = client.post(
        "/payments/confirm/", {"reference": reference, "x": KEY}, content_type="application/json"
    )
    assert watch.answer(confirmed).status_code == 200
    assert Fulfilment.objects.get().state == "delivered"
    watch.hear("reprs", [Transaction.objects.get(), confirm_payment(reference, door=Door.ADMIN)])


def tell_all(fulfilment: Fulfilment) -> None:
    """A handler whose error quotes everything it knows."""
    secret = KEY
    raise RuntimeError(f"Bearer {secret}: cannot mail {PAYER} about {CODE}")


@pytest.mark.django_db(transaction=True)
def test_a_handler_that_fails_and_quotes_the_payer(
    watch: Watch, reference: str, tea_box: PaymentPage, client: Client, configure: Any
) -> None:
    configure(HANDLER="tests.integration.secrets.test_flows.tell_all")
    assert visit(reference, tea_box, client, watch).status_code == 303
    assert "RuntimeError" in Fulfilment.objects.get().last_error
    let_time_pass(3600)
    sweep_due()
    out = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("payments_pages_confirm", reference, stdout=out, stderr=out)
    watch.hear("stdout", out.getvalue() + str(caught.value))
    assert PAYER not in out.getvalue() + str(caught.value)


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    user = get_user_model().objects.create_superuser("staff", "staff@example.test", "pw")
    client.force_login(user)
    return client


def test_every_admin_page(
    watch: Watch, reference: str, tea_box: PaymentPage, staff: Client, sandbox: Sandbox
) -> None:
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    seen = 0
    for model in apps.get_app_config("payments_pages").get_models():
        name = f"admin:payments_pages_{model._meta.model_name}"
        for address in addresses_of(name, model):
            assert watch.answer(staff.get(address)).status_code in {200, 302, 403}
            seen += 1
    assert seen >= 8


def addresses_of(name: str, model: type[models.Model]) -> list[str]:
    try:
        addresses = [reverse(f"{name}_changelist"), f"{reverse(f'{name}_changelist')}?q=PPG"]
    except NoReverseMatch:
        return []
    for row in model._default_manager.all():
        addresses += [reverse(f"{name}_{view}", args=[row.pk]) for view in ("change", "history")]
    return addresses


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", FAULTS, ids=fault_id)
def test_a_page_that_cannot_be_saved_in_the_admin(
    fault: dict[str, Any], watch: Watch, staff: Client, sandbox: Sandbox
) -> None:
    if fault["kind"] != "wrong_reference":
        sandbox.faults.add(operation="create", **fault)
    address = reverse("admin:payments_pages_paymentpage_add")
    fields = {"name": "Tea", "slug": "tea", "amount": "1.00", "custom_fields": "", "metadata": ""}
    response = watch.answer(staff.post(address, fields, follow=True))
    assert response.status_code == 200


@pytest.mark.parametrize("key", [f"{KEY}\u05d0", f"{KEY}\nX: 1", "LEAKME0001", lambda: f"{KEY} x"])
@pytest.mark.parametrize("debug", [True, False])
def test_an_error_page(
    key: Any, debug: bool, watch: Watch, tea_box: PaymentPage, settings: Any, configure: Any
) -> None:
    settings.DEBUG = debug
    configure(SECRET_KEY=key)
    client = Client(raise_request_exception=False)
    response = visit("PPG-1", tea_box, client, watch)
    if key != "LEAKME0001":
        assert response.status_code == 200, (
            "a key that no header can carry is not the payer's fault"
        )
        return
    assert response.status_code == 500, "nothing says whether money is real"
    if debug:
        assert "ConfigurationError" in response.content.decode()


def test_reprs_errors_and_what_error_reporters_copy(
    watch: Watch, reference: str, sandbox: Sandbox, configure: Any
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=401)
    client = get_client()
    watch.hear("repr", [client, client._transport, vars(client), vars(client._transport)])
    with pytest.raises(PaymentsPagesError) as caught:
        client.verify_transaction(reference)
    watch.hear("args", [caught.value.args, vars(caught.value)])
    told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    ours = [frame.locals for frame in told.stack if "/payments_pages/" in frame.filename]
    assert ours
    watch.hear("frames", ours)


def test_system_checks_and_migrations(watch: Watch, configure: Any) -> None:
    for changes in ({}, {"MODE": "live"}, {"BASE_URL": f"http://{KEY}@x"}, {"HANDLER": "a.b"}):
        configure(**changes)
        for message in run_checks(include_deployment_checks=True):
            watch.hear("check", f"{message.msg} {message.hint}")
    for model in apps.get_app_config("payments_pages").get_models():
        state = ModelState.from_model(model)
        fields = [field.deconstruct() for field in state.fields.values()]
        watch.hear("migration", [fields, state.options])


def test_a_key_that_cannot_be_sent_is_refused_without_being_quoted(
    watch: Watch, configure: Any
) -> None:
    configure(SECRET_KEY=f"{KEY}\u05d0")
    with pytest.raises(ConfigurationError) as caught:
        get_client().verify_transaction("PPG-1")
    watch.hear("error", "".join(traceback.format_exception(caught.value)))


def test_the_watch_can_fail(watch: Watch) -> None:
    other = Watch()
    other.listener.emit(logging.makeLogRecord({"msg": "%s", "args": (KEY,)}))
    other.listener.emit(logging.makeLogRecord({"msg": "x", "payer": PAYER}))
    other.hear("table", {"column": CODE})
    assert {leak.split()[0] for leak in other.leaks()} == {KEY, "LEAKME", PAYER, CODE, "LEAKCODE"}


def test_a_key_is_rotated_without_a_restart(
    watch: Watch, reference: str, sandbox: Sandbox, configure: Any
) -> None:
    current = [KEY]
    configure(SECRET_KEY=lambda: current[0], MODE="test")
    assert confirm_payment("UNKNOWN-1", door=Door.CALLBACK).outcome == "unknown"
    sandbox.set_account(secret_key="sk_test_LEAKME0002")
    assert confirm_payment("UNKNOWN-2", door=Door.CALLBACK).outcome == "unavailable"
    current[0] = "sk_test_LEAKME0002\n"
    assert confirm_payment("UNKNOWN-3", door=Door.CALLBACK).outcome == "unknown"
