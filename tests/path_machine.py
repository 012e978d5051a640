"""The machine that drives the path, and the plain model that it is held against."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from payments_pages import staff
from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import confirm_payment
from payments_pages.connection import GATES
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.sweeping import sweep_due
from tests.conftest import let_time_pass, mirror_page
from tests.crash.points import Points
from tests.goods.models import Good

PRICE = 10_000
REFERENCES = ("PPG-1", "PPG-2", "PPG-3")
GIVEN = {Outcome.DELIVERED, Outcome.ALREADY_DELIVERED}
references = st.sampled_from(REFERENCES)
HONEST = {"status": "success", "amount": PRICE, "currency": "ILS", "domain": "test"}
payments = st.one_of(
    st.just(HONEST),
    st.just(HONEST),
    st.just(HONEST),
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["success", "pending", "failed", "abandoned"]),
            "amount": st.sampled_from([PRICE, PRICE + 1, PRICE - 1]),
            "currency": st.sampled_from(["ILS", "ils", "USD"]),
            "domain": st.sampled_from(["test", "live"]),
        }
    ),
)
crashes = st.one_of(st.just(0), st.just(0), st.just(0), st.integers(1, 25))
"""The number of the statement or commit at which the process ends; 0: it does not."""


class Crash(BaseException):
    """The process ends here: nothing in the package may catch it."""


def crash_before(step: Callable[[], Any]) -> None:
    _end()


def crash_after(step: Callable[[], Any]) -> None:
    step()
    _end()


def _end() -> None:
    """What was begun and not committed is gone with the process."""
    connection.connection.rollback()
    raise Crash


class Path(RuleBasedStateMachine):
    """The model is three dicts: what the service says, what was approved, what was rejected.

    From these alone follows what may have been delivered, and in the end what must have been.
    """

    sandbox: Sandbox
    configure: Callable[..., None]
    given_on_the_way: int = 0

    def __init__(self) -> None:
        super().__init__()
        for model in (Event, Good, Fulfilment, Transaction, Verification):
            model.objects.all().delete()
        self.sandbox.reset()
        remote = self.sandbox.add_page(name="Tea box", slug="tea-box", amount=PRICE)
        self.page = PaymentPage.objects.first() or mirror_page(remote)
        self.paid: dict[str, dict[str, Any]] = {}
        self.ever_right: set[str] = set()
        self.approved: set[str] = set()
        self.seen: dict[str, tuple[str, int]] = {}
        self.asked: dict[str, int] = {}

    # What the service says

    @initialize(first=payments, second=payments)
    def two_have_paid_and_one_may(self, first: dict[str, Any], second: dict[str, Any]) -> None:
        self._handler("give")
        self.something_is_paid("PPG-1", **first)
        self.something_is_paid("PPG-2", **second)

    @rule(
        reference=references,
        fields=payments,
    )
    def another_is_paid(self, reference: str, fields: dict[str, Any]) -> None:
        """A payment comes into being; money that was taken does not change its amount."""
        self.something_is_paid(reference, **fields)

    def something_is_paid(self, reference: str, **fields: Any) -> None:
        if reference not in self.paid:
            self.sandbox.pay("tea-box", reference=reference, **fields)
            self.paid[reference] = dict(fields)
            self._look(reference)

    @rule(reference=references, status=st.sampled_from(["success", "failed", "pending"]))
    def its_status_changes(self, reference: str, status: str) -> None:
        if reference in self.paid and self.paid[reference]["status"] not in {"success", "reversed"}:
            self._set(reference, status)

    @rule(reference=references)
    def it_is_reversed(self, reference: str) -> None:
        if self.paid.get(reference, {}).get("status") == "success":
            self._set(reference, "reversed")

    @rule(
        fault=st.sampled_from(
            [
                {"kind": "status", "status": 503},
                {"kind": "status", "status": 404},
                {"kind": "html"},
                {"kind": "drop"},
                {"kind": "truncated"},
                {"kind": "wrong_reference"},
                {"kind": "patch", "data": {"status": "failed"}},
                {"kind": "patch", "envelope": {"status": False}},
                {"kind": "patch", "data": {"amount": 1}, "envelope": {"status": "true"}},
            ]
        )
    )
    def the_service_errs_once(self, fault: dict[str, Any]) -> None:
        self.sandbox.faults.add(operation="verify", times=1, **fault)

    # Doors

    @rule(
        reference=references, claims_page=st.sampled_from([True, True, True, False]), crash=crashes
    )
    def a_payer_comes_back(self, reference: str, claims_page: bool, crash: int) -> None:
        token = self.page.token if claims_page else None
        self._confirm(reference, crash, door=Door.CALLBACK, page_token=token)

    @rule(reference=references, fields=payments)
    def a_payer_pays_and_comes_back(self, reference: str, fields: dict[str, Any]) -> None:
        """The usual way, so that what follows has something to break."""
        self.something_is_paid(reference, **fields)
        self._confirm(reference, 0, door=Door.CALLBACK, page_token=self.page.token)

    @rule(reference=references, refresh=st.booleans(), crash=crashes)
    def a_webhook_comes(self, reference: str, refresh: bool, crash: int) -> None:
        self._confirm(reference, crash, door=Door.WEBHOOK, vouched=True, refresh=refresh)

    @rule(reference=references)
    def a_foreign_page_is_claimed(self, reference: str) -> None:
        self._confirm(reference, 0, door=Door.CALLBACK, page_token=UUID(int=7))

    @rule(crash=crashes, after=st.booleans())
    def the_sweep_runs(self, crash: int, after: bool) -> None:
        self._run(sweep_due, crash, after=after)

    # Staff

    @rule(reference=references, crash=crashes)
    def staff_approve(self, reference: str, crash: int) -> None:
        row = self._row(reference)
        if row is not None and staff.may_approve(row):
            self.approved.add(reference)
            self._run(lambda: staff.approve(row, actor="Rana", note="by hand"), crash)

    @rule(reference=references, crash=crashes)
    def staff_reject(self, reference: str, crash: int) -> None:
        row = self._row(reference)
        if row is not None and staff.may_reject(row):
            self._run(lambda: staff.reject(row, actor="Omar", note="sent back"), crash)

    @rule(reference=references, crash=crashes)
    def staff_try_again(self, reference: str, crash: int) -> None:
        row = self._row(reference)
        if row is not None and staff.may_retry(row):
            self._run(lambda: staff.retry(row, actor="Rana"), crash)

    # The merchant's code, and time

    @rule(name=st.sampled_from(["give", "give", "give", "fail_always", "refuse", "undo_silently"]))
    def the_handler_is(self, name: str) -> None:
        self._handler(name)

    @rule(seconds=st.sampled_from([3, 20, 120, 7200]))
    def time_passes(self, seconds: int) -> None:
        let_time_pass(seconds)

    # What must always hold

    @invariant()
    def nothing_is_given_twice_or_for_nothing(self) -> None:
        for reference in REFERENCES:
            given = Good.objects.filter(reference=reference).count()
            row = self._row(reference)
            delivered = row is not None and row.state == FulfilmentState.DELIVERED
            assert given == (1 if delivered else 0), reference
            if given:
                assert reference in self.ever_right | self.approved, "a mismatch was delivered"

    @invariant()
    def attempts_rise_and_what_is_over_stays(self) -> None:
        for row in Fulfilment.objects.select_related("transaction"):
            reference = row.transaction.reference
            state, attempts = self.seen.get(reference, ("", 0))
            assert row.attempts >= attempts
            if state in {FulfilmentState.DELIVERED, FulfilmentState.REJECTED}:
                assert row.state == state
            self.seen[reference] = (str(row.state), row.attempts)
        for asked in Verification.objects.all():
            assert asked.attempts >= self.asked.get(asked.reference, 0)
            self.asked[asked.reference] = asked.attempts

    @invariant()
    def the_mirror_says_nothing_that_was_not_said(self) -> None:
        for row in Transaction.objects.all():
            if row.status in {"success", "reversed"}:
                assert self.paid[row.reference]["status"] in {"success", "reversed"}

    def teardown(self) -> None:
        """Let everything heal: then what must be delivered is, and nothing is left to do."""
        type(self).given_on_the_way += Good.objects.count()
        self.sandbox.faults.clear()
        self._handler("give")
        for reference in self.paid:
            self._confirm(reference, 0, door=Door.CALLBACK, page_token=self.page.token)
        for _round in range(4):
            let_time_pass(7200)
            sweep_due()
        self.nothing_is_given_twice_or_for_nothing()
        for reference, fields in self.paid.items():
            row = self._row(reference)
            if row is None:
                assert fields["status"] != "success", reference
                continue
            if self._is_right(fields) and not row.decided_by:
                ended = {FulfilmentState.DELIVERED}
                if row.reason in {"permanent_error", "attempts_spent", "unattributed"}:
                    ended.add(FulfilmentState.HELD)
                assert row.state in ended, (reference, row.state, row.reason)
            assert row.state not in Fulfilment.objects.all().open_states, reference
        settled = Verification.objects.filter(state=VerificationState.SETTLED)
        for row in settled:
            assert self.paid[row.reference]["status"] in {"success", "reversed"}

    # How

    def _confirm(self, reference: str, crash: int, **more: Any) -> None:
        found = self._run(lambda: confirm_payment(reference, **more), crash)
        if found is not None and found.outcome in GIVEN:
            assert Good.objects.filter(reference=reference).count() == 1

    def _run(self, action: Callable[[], Any], crash: int, *, after: bool = False) -> Any:
        """Act, and perhaps crash at the n-th statement or commit; 0 is no crash."""
        GATES.forget()  # a breaker goes by the clock on the wall, which this model does not move
        try:
            with Points(crash, crash_after if after else crash_before).watch():
                return action()
        except Crash:
            connection.close()
            return None

    def _row(self, reference: str) -> Fulfilment | None:
        rows = Fulfilment.objects.select_related("transaction")
        return rows.filter(transaction__reference=reference).first()

    def _handler(self, name: str) -> None:
        self.configure(HANDLER=f"tests.goods.handlers.{name}")

    def _set(self, reference: str, status: str) -> None:
        self.sandbox.set_transaction(reference, status=status)
        self.paid[reference]["status"] = status
        self._look(reference)

    def _look(self, reference: str) -> None:
        if self._is_right(self.paid[reference]):
            self.ever_right.add(reference)

    @staticmethod
    def _is_right(fields: dict[str, Any]) -> bool:
        return (
            fields["status"] == "success"
            and fields["amount"] >= PRICE
            and fields["currency"].upper() == "ILS"
            and fields["domain"] == "test"
        )
