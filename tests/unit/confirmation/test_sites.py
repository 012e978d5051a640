"""The tables are bound to one site: a copy of them, or a second site on them, delivers nothing (S11)."""

import io
import logging
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import (
    confirm_payment,
    forget_binding,
    read_binding,
    sites,
    sweep_due,
    take_message,
)
from payments_pages.exceptions import OtherSite
from payments_pages.models import Fulfilment, PaymentPage, SiteBinding, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.staff import read_attention
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good
from tests.support.webhook_signing import event, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("tea_box")]

OTHER = "https://staging.example.com"


def move(*arguments: str) -> str:
    out = io.StringIO()
    call_command("payments_pages_move", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def copy(sandbox: Sandbox, configure: Any) -> str:
    """A copy of this site's database on another site, with the same key; a payment is due in it."""
    sweep_due()
    reference = pay(sandbox, status="pending")
    confirm_payment(reference, door=Door.CALLBACK)
    sandbox.set_transaction(reference, status="success")
    let_time_pass(3600)
    configure(SITE_URL=OTHER)
    forget_binding()
    return reference


def test_s11_the_first_sweep_binds_the_tables_and_later_ones_leave_it(sandbox: Sandbox) -> None:
    assert read_binding() is None
    sweep_due()
    first = SiteBinding.objects.get()
    assert (first.site, first.url) == ("testserver", "https://testserver")
    sweep_due()
    assert SiteBinding.objects.get().bound_at == first.bound_at


def test_s11_sweeps_that_come_first_together_bind_once(sandbox: Sandbox) -> None:
    runs = [in_thread(sweep_due) for _number in range(4)]
    assert [run.result(timeout=30).errors for run in runs] == [0] * 4
    assert SiteBinding.objects.count() == 1


def test_s11_the_sweep_of_a_copy_says_why_and_does_nothing(sandbox: Sandbox, copy: str) -> None:
    calls = sandbox.verify_calls()
    with pytest.raises(OtherSite):
        sweep_due()
    for arguments in ([], ["--watch"], ["--jobs", "2"]):
        with pytest.raises(CommandError, match=r"belong to https://testserver, and SITE_URL is"):
            call_command("payments_pages_sweep", *arguments, stdout=io.StringIO())
    assert sandbox.verify_calls() == calls
    assert not Good.objects.exists()


def test_s11_no_door_of_a_copy_asks_or_delivers(
    sandbox: Sandbox, copy: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls = sandbox.verify_calls()
    new = pay(sandbox)
    for door in Door:
        for reference in (copy, new):
            assert confirm_payment(reference, door=door).outcome is Outcome.UNAVAILABLE
    assert take_message(copy) is Outcome.UNAVAILABLE
    assert sandbox.verify_calls() == calls
    assert not Fulfilment.objects.exists()
    assert not Verification.objects.filter(reference=new).exists()
    told = [one for one in caplog.records if "confirmation.other_site" in one.getMessage()]
    assert {one.levelno for one in told} == {logging.CRITICAL}
    assert "https://testserver" in told[0].getMessage()


@pytest.mark.usefixtures("open_webhook")
def test_s11_the_webhook_of_a_copy_is_sent_again_and_payers_are_told_to_come_back(
    sandbox: Sandbox, copy: str, client: Client, come_back: Any, tea_box: PaymentPage
) -> None:
    assert post(event(copy), client=client).status_code == 503
    response = come_back(copy, tea_box)
    assert response.status_code == 200
    assert not Good.objects.exists()


def test_s11_needs_attention_says_so(copy: str, admin_client: Client) -> None:
    assert "https://testserver" in read_attention().other_site
    assert read_attention().missing == ""
    shown = admin_client.get("/admin/payments_pages/").content.decode()
    assert "These tables belong to another site" in shown


def test_s11_a_person_moves_the_tables_and_the_old_site_stops(
    sandbox: Sandbox, copy: str, configure: Any
) -> None:
    said = move("--yes")
    assert "Bound to: https://testserver since" in said
    assert f"SITE_URL: {OTHER}" in said
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    configure(SITE_URL="https://testserver")
    with pytest.raises(OtherSite):
        sweep_due()
    assert confirm_payment(pay(sandbox), door=Door.CALLBACK).outcome is Outcome.UNAVAILABLE


@pytest.mark.parametrize("answer", ["", "n", "maybe", None])
def test_s11_without_a_yes_nothing_is_moved(
    copy: str, monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    def reply(_question: str) -> str:
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", reply)
    with pytest.raises(CommandError, match="Nothing was changed"):
        move()
    assert SiteBinding.objects.get().site == "testserver"
    monkeypatch.setattr("builtins.input", lambda _question: "Y")
    move()
    assert SiteBinding.objects.get().site == "staging.example.com"


@pytest.mark.parametrize(
    "same",
    ["http://testserver", "https://TESTSERVER/", "https://testserver:443", "https://testserver."],
)
def test_s11_scheme_case_and_default_port_do_not_make_another_site(
    copy: str, configure: Any, same: str
) -> None:
    configure(SITE_URL=same)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


@pytest.mark.parametrize("other", ["https://testserver:8443", "https://www.testserver"])
def test_s11_another_port_or_host_is_another_site(copy: str, configure: Any, other: str) -> None:
    configure(SITE_URL=other)
    with pytest.raises(OtherSite):
        sweep_due()


def test_s11_a_site_without_an_address_neither_binds_nor_is_refused(
    sandbox: Sandbox, configure: Any
) -> None:
    configure(SITE_URL=None)
    sweep_due()
    assert not SiteBinding.objects.exists()
    assert confirm_payment(pay(sandbox), door=Door.CALLBACK).outcome is Outcome.DELIVERED
    with pytest.raises(CommandError, match="SITE_URL is not set"):
        move("--yes")


def test_s11_the_look_is_not_made_for_each_payment(
    sandbox: Sandbox, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites.refuse_other_site()
    with django_assert_num_queries(0):
        sites.refuse_other_site()
    now = sites.time.monotonic()
    monkeypatch.setattr(sites.time, "monotonic", lambda: now + sites.BELIEVED_FOR + 1)
    with django_assert_num_queries(1):
        sites.refuse_other_site()
