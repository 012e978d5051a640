"""A reference is neither deleted nor given up because a web server's clock is wrong."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from payments_pages.choices import Door, Outcome, VerificationState
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3600


def set_clock(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    """Set this process's clock, and not the database's."""
    off = dt.timedelta(days=days)
    monkeypatch.setattr(timezone, "now", lambda: dt.datetime.now(dt.UTC) + off)


@pytest.mark.parametrize("days", [-30, -4, 4, 30, 365])
@pytest.mark.parametrize("known", [True, False])
def test_nothing_is_given_up_or_forgotten_by_it(
    known: bool,
    days: float,
    tea_box: PaymentPage,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock is wrong from the first visit on, or only when the sweep runs."""
    fields: dict[str, Any] = {"door": Door.CALLBACK, "page_token": tea_box.token}
    if known:
        sandbox.pay("tea-box", reference="BEFORE", status="failed")
        sandbox.pay("tea-box", reference="AFTER", status="failed")
    confirm_payment("BEFORE", **fields)
    set_clock(monkeypatch, days)
    confirm_payment("AFTER", **fields)
    for _sweep in range(3):
        let_time_pass(HOUR)
        assert sweep_due().purged == 0
    waiting = {VerificationState.DUE if known else VerificationState.UNKNOWN}
    assert set(Verification.objects.values_list("state", flat=True)) == waiting
    for reference in ("BEFORE", "AFTER"):
        if known:
            sandbox.set_transaction(reference, status="success")
        else:
            sandbox.pay("tea-box", reference=reference)
    let_time_pass(9 * HOUR)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 2}
    assert Good.objects.count() == 2
