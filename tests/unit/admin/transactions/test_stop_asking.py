"""Staff end the asking about a reference; whoever names it again begins it anew."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, EventKind, Outcome, VerificationState
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Event, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db

LIST = reverse("admin:payments_pages_verification_changelist")
DAY = 24 * 3600


def stop(client: Client, row: Verification) -> str:
    chosen = {"action": "stop_asking", "_selected_action": row.pk}
    return client.post(LIST, chosen, follow=True).content.decode()


@pytest.fixture
def open_payment(tea_box: PaymentPage, sandbox: Sandbox) -> Verification:
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(31 * DAY)
    return Verification.objects.get()


def test_nobody_asks_after_staff_have_ended_it(
    staff: Client, open_payment: Verification, sandbox: Sandbox
) -> None:
    assert "no longer asked about" in stop(staff, open_payment)
    calls = sandbox.verify_calls()
    let_time_pass(30 * DAY)
    assert sweep_due().taken == 0
    assert sandbox.verify_calls() == calls
    assert Verification.objects.get().state == VerificationState.ENDED
    assert Event.objects.filter(kind=EventKind.ASKING_ENDED, door=Door.ADMIN).count() == 1
    assert LogEntry.objects.get().get_change_message() == "Changed automatic checks (stopped)."


@pytest.mark.parametrize("vouched", [True, False])
def test_whoever_names_it_again_begins_it_anew(
    staff: Client, open_payment: Verification, sandbox: Sandbox, vouched: bool
) -> None:
    stop(staff, open_payment)
    found = confirm_payment(
        open_payment.reference, door=Door.CALLBACK, vouched=vouched, client_ip="192.0.2.7"
    )
    assert found.outcome is Outcome.PENDING
    sandbox.set_transaction(open_payment.reference, status="success")
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1


@pytest.mark.parametrize(
    "changes", [{"state": VerificationState.VERIFYING}, {"state": "settled"}, {"attempts": 7}]
)
def test_what_has_moved_on_is_left_alone(
    staff: Client, open_payment: Verification, changes: dict[str, Any]
) -> None:
    """An ask is under way, or has come to its end: its answer must not be dropped."""
    Verification.objects.update(**changes)
    if "attempts" in changes:
        assert not decisions.stop_asking(open_payment, actor="Rana")
    else:
        assert "nothing to do in this state" in stop(staff, open_payment)
    assert Verification.objects.get().state != VerificationState.ENDED
    assert not Event.objects.filter(kind=EventKind.ASKING_ENDED).exists()
