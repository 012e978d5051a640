"""The state machine that drives the path, and the plain model that it is compared with."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.client import GATES
from payments_pages.confirmation import confirm_payment, sweep_due, take_message, verification
from payments_pages.db import retry_transient
from payments_pages.exceptions import DecisionError
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from payments_pages.testing import let_time_pass
from tests.conftest import mirror_page
from tests.integration.queues.senders import SEEN, SENT
from tests.reliability.crash.points import Points
from tests.reliability.state_machine.draws import (
    PAGE_REFERENCES,
    POPUP,
    PRICE,
    UNPAID,
    Crash,
    crash_before,
    crashes,
    faults,
    is_right,
    payments,
    references,
    run_command,
)
from tests.reliability.state_machine.notices import CrashAt, Words
from tests.support.goods.models import Good

GIVEN = {Outcome.DELIVERED, Outcome.ALREADY_DELIVERED}
NEVER: CrashAt = (0, crash_before)


class Path(Words):
    """The model is a few dicts: what the service says, what was approved, what was told to the site.

    From these alone follows what may have been delivered, and in the end what must have been.
    """

    sandbox: Sandbox
    configure: Callable[..., None]
    given_on_the_way: int = 0
    atomic = True

    def __init__(self) -> None:
        super().__init__()
        for model in (Event, Good, Fulfilment, Transaction, ExpectedPayment, Verification):
            rows = model._base_manager.all()
            # PostgreSQL at serializable may undo what nobody else has touched.
            retry_transient(
                lambda _number, rows=rows: rows._raw_delete(connection.alias),
                using=connection.alias,
            )
        SENT.clear()
        SEEN.clear()
        self.sandbox.reset()
        remote = self.sandbox.add_page(name="Tea box", slug="tea-box", amount=PRICE)
        self.page = PaymentPage.objects.first() or mirror_page(remote)
        self.popup = ExpectedPayment.objects.expect(amount=PRICE, currency="ILS").reference
        self.paid: dict[str, dict[str, Any]] = {}
        self.ever_right: set[str] = set()
        self.approved: set[str] = set()
        self.seen: dict[str, tuple[str, int]] = {}
        self.asked: dict[int, int] = {}

    # What the service says

    @initialize(first=payments, second=payments, pause=st.sampled_from([0.0, 0.0, 2.0]))
    def two_have_paid_and_one_may(
        self, first: dict[str, Any], second: dict[str, Any], pause: float
    ) -> None:
        verification.ASK_AT_MOST_EVERY = pause  # of the real clock, which the model does not move
        self._handler("give")
        self.a_payer_pays_and_comes_back("PPG-1", first)
        self.something_is_paid("PPG-2", **second)

    @rule(reference=references, fields=payments)
    def another_is_paid(self, reference: str, fields: dict[str, Any]) -> None:
        """A payment comes into being; money that was taken does not change its amount."""
        self.something_is_paid(reference, **fields)

    def something_is_paid(self, reference: str, **fields: Any) -> None:
        reference = self._named(reference)
        if reference not in self.paid and reference not in self.behind:
            self.sandbox.pay("tea-box", reference=reference, **fields)
            self.paid[reference] = dict(fields)
            self._look(reference)

    @rule(reference=references, status=st.sampled_from(["success", *UNPAID]))
    def its_status_changes(self, reference: str, status: str) -> None:
        reference = self._named(reference)
        unpaid = self.paid.get(reference, {}).get("status") in UNPAID
        if unpaid and reference not in self.behind:
            self._set(reference, status)

    @rule(reference=references)
    def it_is_reversed(self, reference: str) -> None:
        reference = self._named(reference)
        if self.paid.get(reference, {}).get("status") == "success":
            self._set(reference, "reversed")

    @rule(fault=faults)
    def the_service_errs_once(self, fault: dict[str, Any]) -> None:
        self.sandbox.faults.add(operation="verify", times=1, **fault)

    # Doors

    @rule(
        reference=references, claims_page=st.sampled_from([True, True, True, False]), crash=crashes
    )
    def a_payer_comes_back(self, reference: str, claims_page: bool, crash: CrashAt) -> None:
        token = self.page.token if claims_page else None
        self._confirm(reference, crash, door=Door.CALLBACK, page_token=token)

    @rule(reference=references, fields=payments)
    def a_payer_pays_and_comes_back(self, reference: str, fields: dict[str, Any]) -> None:
        """The usual way, so that what follows has something to break."""
        self.something_is_paid(reference, **fields)
        self._confirm(reference, NEVER, door=Door.CALLBACK, page_token=self.page.token)

    @rule(reference=references, refresh=st.booleans(), crash=crashes)
    def a_webhook_comes(self, reference: str, refresh: bool, crash: CrashAt) -> None:
        self._confirm(reference, crash, door=Door.WEBHOOK, vouched=True, refresh=refresh)

    @rule(reference=references)
    def a_foreign_page_is_claimed(self, reference: str) -> None:
        self._confirm(reference, NEVER, door=Door.CALLBACK, page_token=UUID(int=7))

    @rule(crash=crashes)
    def the_sweep_runs(self, crash: CrashAt) -> None:
        self._run(sweep_due, crash)

    @rule(
        reference=references,
        door=st.sampled_from(["popup", "worker", "command", "refreshing", "staff"]),
        crash=crashes,
    )
    def another_door_opens(self, reference: str, door: str, crash: CrashAt) -> None:
        """A worker's message is a true one, an old one or a forged one: it makes no difference."""
        named = self._named(reference)
        if door == "popup":
            self._confirm(reference, crash, door=Door.CONFIRM)
        elif door == "worker":
            self._run(lambda: take_message(named), crash)
        elif door == "staff":
            how = {"vouched": True, "refresh": True, "deliver_now": True, "actor": "Rana"}
            self._confirm(reference, crash, door=Door.ADMIN, **how)
        else:
            self._run(lambda: run_command(named, refresh=door == "refreshing"), crash)

    # Staff

    @rule(reference=references, crash=crashes)
    def staff_name_the_page(self, reference: str, crash: CrashAt) -> None:
        """Staff name a page; it is delivered only if price and currency fit."""
        row = self._row(reference)
        if row is not None and decisions.may_attribute(row.transaction):
            self._run(
                lambda: decisions.attribute(row.transaction, page=self.page, actor="Rana"), crash
            )

    @rule(reference=references, crash=crashes)
    def staff_approve(self, reference: str, crash: CrashAt) -> None:
        row = self._row(reference)
        if row is not None and decisions.may_approve(row.transaction):
            self.approved.add(self._named(reference))
            self._run(
                lambda: decisions.approve(row.transaction, actor="Rana", note="by hand"), crash
            )

    @rule(reference=references, crash=crashes)
    def staff_reject(self, reference: str, crash: CrashAt) -> None:
        row = self._row(reference)
        if row is not None and decisions.may_reject(row.transaction):
            self._run(
                lambda: decisions.reject(row.transaction, actor="Omar", note="sent back"), crash
            )

    @rule(reference=references, crash=crashes)
    def staff_try_again(self, reference: str, crash: CrashAt) -> None:
        row = self._row(reference)
        if row is not None and decisions.may_retry(row.transaction):
            self._run(lambda: decisions.retry(row.transaction, actor="Rana"), crash)

    # The merchant's code

    @rule(
        name=st.sampled_from(["give", "give", "give", "fail_always", "refuse", "undo_silently"]),
        how=st.sampled_from(["inline", "inline", "queued"]),
    )
    def the_handler_is(self, name: str, how: str) -> None:
        self._handler(name, how)

    # What must always hold

    @invariant()
    def nothing_is_given_twice_or_for_nothing(self) -> None:
        rows = {
            row.transaction.reference: row
            for row in Fulfilment.objects.select_related("transaction")
        }
        given = list(Good.objects.all())
        for reference in (*PAGE_REFERENCES, self.popup):
            goods = [good for good in given if good.reference == reference]
            self.is_given_as_promised(rows.get(reference), goods)
            if goods:
                assert reference in self.ever_right | self.approved, "a mismatch was delivered"

    def is_given_as_promised(self, row: Fulfilment | None, goods: list[Good]) -> None:
        """Check that the handler wrote once if it is delivered; otherwise all was rolled back."""
        delivered = row is not None and row.state == FulfilmentState.DELIVERED
        assert len(goods) == (1 if delivered else 0), (row, goods)

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
            # By its row: what was forgotten and comes again begins anew.
            assert asked.attempts >= self.asked.get(asked.pk, 0)
            self.asked[asked.pk] = asked.attempts

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
        self.sweeps_alone_settle_what_was_signed()
        for reference in self.paid:
            self._confirm(reference, NEVER, door=Door.CALLBACK, page_token=self.page.token)
        for _round in range(4):
            let_time_pass(7200)
            sweep_due()
        self.nothing_is_given_twice_or_for_nothing()
        for reference, fields in self.paid.items():
            row = self._row(reference)
            if row is None:
                assert fields["status"] != "success", reference
                continue
            if is_right(fields) and not row.decided_by:
                ended = {FulfilmentState.DELIVERED}
                if row.reason in {"permanent_error", "attempts_spent", "unattributed"}:
                    ended.add(FulfilmentState.HELD)
                assert row.state in ended, (reference, row.state, row.reason)
            assert row.state not in Fulfilment.objects.all().open_states, reference
        settled = Verification.objects.filter(state=VerificationState.SETTLED)
        for row in settled:
            assert self.paid[row.reference]["status"] in {"success", "reversed"}

    # How

    def _confirm(self, reference: str, crash: CrashAt, **more: Any) -> None:
        named = self._named(reference)
        found = self._run(lambda: confirm_payment(named, **more), crash)
        if found is None:
            return
        self.check_told(named, found.outcome)
        if found.outcome in GIVEN:
            assert Good.objects.filter(reference=named).exists()

    def _run(self, action: Callable[[], Any], crash: CrashAt) -> Any:
        """Act, and perhaps crash at the n-th statement or commit; 0 is no crash."""
        GATES.forget()  # a breaker goes by the clock on the wall, which this model does not move
        try:
            with Points(*crash).watch():
                return action()
        except Crash:
            connection.close()
            return None
        except DecisionError:
            return None  # the service gave no answer, or takes the money back: nothing is done

    def _named(self, reference: str) -> str:
        return self.popup if reference == POPUP else reference

    def _row(self, reference: str) -> Fulfilment | None:
        rows = Fulfilment.objects.select_related("transaction")
        return rows.filter(transaction__reference=self._named(reference)).first()

    def _handler(self, name: str, how: str = "inline") -> None:
        self.configure(
            HANDLER=f"tests.support.goods.handlers.{name}",
            HANDLER_ATOMIC=self.atomic,
            DELIVERY=how,
            NUDGE="tests.integration.queues.senders.keep",
        )

    def _set(self, reference: str, status: str) -> None:
        self.sandbox.set_transaction(reference, status=status)
        self.paid[reference]["status"] = status
        self._look(reference)

    def _look(self, reference: str) -> None:
        if is_right(self.paid[reference]):
            self.ever_right.add(reference)
