"""The rules of the state machine about signed notices, and about a verify that is late.

Beside what the service's verify says (`paid`) there is what is true at the service and verify
does not say yet (`behind`). A notice tells the truth; the package must ask until verify does, too.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import (
    POLICY_REASONS,
    confirm_payment,
    confirm_payment_on_commit,
    sweep_due,
)
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.reliability.state_machine.draws import (
    FAILED,
    HONEST,
    UNPAID,
    crashes,
    references,
    run_command,
)
from tests.support.webhook_signing import event, post

__all__ = ["CrashAt", "Words"]

CrashAt = tuple[int, Callable[[Callable[[], Any]], None]]

MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR
KEPT_FOR = 3 * DAY
SOON = MINUTE
"""Seconds: the next sweep must find it due, whether it waits for an ask or for the end of a lease."""


class Words(RuleBasedStateMachine):
    """The rules that send notices, and the invariants about their results."""

    sandbox: Sandbox
    page: PaymentPage
    paid: dict[str, dict[str, Any]]

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.behind: dict[str, dict[str, Any]] = {}
        self.signed: dict[str, float] = {}
        """When the last signed success of a reference was answered, by the model's clock."""
        self.named: dict[str, float] = {}

    # What the service says

    @rule(reference=references, seen=st.sampled_from([None, "pending", "failed", "abandoned"]))
    def verify_falls_behind(self, reference: str, seen: str | None) -> None:
        """A reference is paid; verify does not know it yet, or says what was true before."""
        reference = self._named(reference)
        if reference in self.behind:
            return
        earlier = self.paid.get(reference)
        if earlier is None and seen is not None:
            self.something_is_paid(reference, **{**HONEST, "status": seen})
            earlier = self.paid[reference]
        if earlier is None or earlier["status"] in UNPAID:
            self.behind[reference] = {**(earlier or HONEST), "status": "success"}

    @rule(reference=references)
    def verify_catches_up(self, reference: str) -> None:
        self._catch_up(self._named(reference))

    # What is said to the site

    @rule(reference=references, crash=crashes)
    def the_service_sends_its_notice(self, reference: str, crash: CrashAt) -> None:
        reference = self._named(reference)
        if self._truth(reference) == "success":
            self._heard(reference, self._run(lambda: post(event(reference)), crash))

    @rule(reference=references, look=st.sampled_from(["callback", "sweep", "staff"]))
    def a_notice_overtakes_a_look(self, reference: str, look: str) -> None:
        """The look has its answer; the payment is made and told of; then the answer comes."""
        reference = self._named(reference)
        status = self._truth(reference)
        if status is not None and status not in UNPAID:
            return
        answers: list[HttpResponse] = []

        def meanwhile() -> None:
            if reference in self.paid:
                self._set(reference, "success")
            else:
                self.something_is_paid(reference, **HONEST)
            answers.append(in_thread(lambda: post(event(reference))).result(timeout=30))

        self.sandbox.faults.clear()
        self.sandbox.faults.add(
            operation="verify", reference=reference, kind="run", function=meanwhile, times=1
        )
        looks: dict[str, Callable[[], object]] = {
            "callback": lambda: confirm_payment(
                reference, door=Door.CALLBACK, page_token=self.page.token
            ),
            "sweep": sweep_due,
            "staff": lambda: confirm_payment(
                reference, door=Door.ADMIN, vouched=True, refresh=True, actor="Rana"
            ),
        }
        looks[look]()
        self.sandbox.faults.clear()
        if answers:
            self._heard(reference, answers[0])

    @rule(
        reference=references,
        who=st.sampled_from(["staff", "command", "own code", "on commit"]),
        crash=crashes,
    )
    def somebody_trusted_names_it(self, reference: str, who: str, crash: CrashAt) -> None:
        """Staff by hand, or the merchant's own code."""
        named = self._named(reference)
        staff = {"door": Door.ADMIN, "refresh": True, "deliver_now": True, "actor": "Rana"}
        ways: dict[str, Callable[[], object]] = {
            "staff": lambda: confirm_payment(named, vouched=True, **staff) or True,
            "command": lambda: run_command(named, refresh=True) or True,
            "own code": lambda: confirm_payment(named, door=Door.CONFIRM, vouched=True) or True,
            "on commit": lambda: confirm_payment_on_commit(named) or True,
        }
        if self._run(ways[who], crash):
            self.named[named] = self.now
            self._is_asked_soon(named)

    def _heard(self, reference: str, told: HttpResponse | None) -> None:
        """Note a notice that was answered; None: the process died, the service sends it again."""
        if told is None:
            return
        self.signed[reference] = self.named[reference] = self.now
        self._is_asked_soon(reference)
        if told.status_code == 200:
            assert self._row(reference) is not None or self._is_reversed(reference), (
                f"{reference}: answered as done, and nothing was opened"
            )
        else:
            assert told.status_code == 503

    def _is_asked_soon(self, reference: str) -> None:
        """The schedule begins anew, unless there is nothing left to ask."""
        asked = Verification.objects.get(reference=reference)
        if asked.state == VerificationState.SETTLED or self._row(reference) is not None:
            return
        assert asked.vouched
        assert asked.state != VerificationState.LAPSED, f"{reference}: given up when it was named"
        assert asked.next_at is not None
        wait = (asked.next_at - timezone.now()).total_seconds()
        assert wait <= SOON, f"{reference}: named, and asked about in {wait:.0f} seconds"

    # Time

    @rule(seconds=st.sampled_from([3, 20, 120, 7200, DAY, KEPT_FOR + HOUR]))
    def time_passes(self, seconds: int) -> None:
        self._pass(seconds)

    @rule()
    def four_days_go_by_with_a_sweep_each(self) -> None:
        for _day in range(4):
            self._pass(DAY)
            self._run(sweep_due, (0, _never))

    def _pass(self, seconds: float) -> None:
        let_time_pass(seconds)
        self.now += seconds

    # What must always hold

    @invariant()
    def a_signed_success_is_never_given_up_or_forgotten(self) -> None:
        for reference in self.signed:
            asked = Verification.objects.filter(reference=reference).first()
            assert asked is not None, f"{reference}: forgotten"
            given_up = asked.state in {VerificationState.LAPSED, VerificationState.UNKNOWN}
            assert not given_up or self._is_reversed(reference), f"{reference}: {asked.state}"

    @invariant()
    def what_the_service_calls_open_is_asked_about_every_day(self) -> None:
        over = {"success", "reversed", *FAILED}
        for paid in Transaction.objects.exclude(status__in=over):
            asked = Verification.objects.get(reference=paid.reference)
            if asked.state == VerificationState.SETTLED:
                continue
            assert asked.next_at is not None, f"{paid}: {paid.status}, and {asked.state}"
            assert asked.next_at <= timezone.now() + dt.timedelta(days=1, minutes=1), paid

    @invariant()
    def nothing_is_given_up_within_three_days_of_a_trusted_word(self) -> None:
        for asked in Verification.objects.filter(state=VerificationState.LAPSED):
            said_at = self.named.get(asked.reference)
            assert said_at is None or self.now - said_at >= KEPT_FOR, asked

    def check_told(self, reference: str, outcome: Outcome) -> None:
        """Nobody is told "not paid" or "unknown" against a signed success."""
        if reference in self.signed and outcome in {Outcome.NOT_PAID, Outcome.UNKNOWN}:
            assert self._is_reversed(reference), f"{reference}: {outcome} against a signed success"

    def sweeps_alone_settle_what_was_signed(self) -> None:
        """The end of a story: verify has caught up, nobody comes, and two sweeps go by.

        A contradiction more than a day old is asked about every hour, not every minute.
        """
        for reference in list(self.behind):
            self._catch_up(reference)
        before = {reference for reference in self.signed if self._row(reference) is not None}
        young = {ref for ref, told_at in self.signed.items() if self.now - told_at < DAY - HOUR}
        for _sweep in range(2):
            self._pass(MINUTE)
            sweep_due()
        self._are_decided(young - before)
        self._pass(2 * HOUR)
        sweep_due()
        self._are_decided(set(self.signed) - before)

    def _are_decided(self, signed: set[str]) -> None:
        for reference in signed:
            if self._is_reversed(reference):
                continue
            row = self._row(reference)
            assert row is not None, f"{reference}: verify says success, and no sweep asked"
            held = row.state == FulfilmentState.HELD and row.reason in POLICY_REASONS
            assert row.state == FulfilmentState.DELIVERED or held, (reference, row.state)

    # How

    def _truth(self, reference: str) -> str | None:
        known = self.behind.get(reference) or self.paid.get(reference)
        return None if known is None else str(known["status"])

    def _is_reversed(self, reference: str) -> bool:
        return self._truth(reference) == "reversed"

    def _catch_up(self, reference: str) -> None:
        truth = self.behind.pop(reference, None)
        if truth is None:
            return
        if reference in self.paid:
            self._set(reference, "success")
        else:
            self.something_is_paid(reference, **truth)

    def something_is_paid(self, reference: str, **fields: Any) -> None:
        raise NotImplementedError

    def _named(self, reference: str) -> str:
        raise NotImplementedError

    def _row(self, reference: str) -> Fulfilment | None:
        raise NotImplementedError

    def _run(self, action: Callable[[], Any], crash: CrashAt) -> Any:
        raise NotImplementedError

    def _set(self, reference: str, status: str) -> None:
        raise NotImplementedError


def _never(step: Callable[[], Any]) -> None:
    step()
