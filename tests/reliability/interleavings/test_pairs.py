"""Every ordered pair of steps of two rivals ends in one delivery, truly told."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from payments_pages.choices import FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import sweep_due
from payments_pages.models import Fulfilment, FulfilmentQuerySet, Transaction, Verification
from payments_pages.testing import let_time_pass
from tests.reliability.interleavings.conftest import Action, Place
from tests.reliability.interleavings.scheduler import Meeting, meetings
from tests.support.goods.models import Good

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

HOUR = 3600
TOLD = {
    Outcome.DELIVERED, Outcome.ALREADY_DELIVERED, Outcome.DELIVERING, Outcome.PENDING,
    Outcome.HELD, Outcome.NOT_PAID, Outcome.UNAVAILABLE,
}  # fmt: skip
"""The outcomes that a rival may get: what is true, or that it must come again."""


def check(reference: str, meeting: Meeting) -> None:
    """After a sweep: delivered, once, and nobody was told what was not true."""
    for result in meeting.results:
        assert result in TOLD or result is None, (result, meeting)
    told = list(meeting.results).count(Outcome.DELIVERED)
    assert told <= 1, meeting
    _sweep(meeting)
    row = Fulfilment.objects.get(transaction__reference=reference)
    assert row.state == FulfilmentState.DELIVERED, meeting
    keys = list(Good.objects.filter(reference=reference).values_list("key", flat=True))
    assert keys == [row.idempotency_key], meeting
    assert Transaction.objects.get(reference=reference).status == "success", meeting


def _sweep(meeting: Meeting) -> None:
    """Let the sweep finish what the rivals left, if anything."""
    open_rows = Fulfilment.objects.filter(state__in=FulfilmentQuerySet.open_states)
    asking = Verification.objects.exclude(state=VerificationState.SETTLED)
    for _round in range(2):
        if not (open_rows.exists() or asking.exists()):
            return
        let_time_pass(12 * HOUR)
        assert sweep_due().errors == 0, meeting


def play(
    pair: Callable[[str], tuple[Action, Action]],
    *,
    swapped: bool,
    again: Callable[[str], Action] | None = None,
    **more: Any,
) -> int:
    """Let a pair of actions meet in all orders, and check each; how many there were."""
    count = 0

    def prepare(number: int) -> tuple[Action, Action]:
        first, second = pair(f"MET-{number}")
        return (second, first) if swapped else (first, second)

    for meeting in meetings(prepare, half=HALF, **more):
        if again is not None and Outcome.UNAVAILABLE in meeting.results:
            let_time_pass(60)
            again(f"MET-{meeting.number}")()  # staff, or the payer, were told to try again
        check(f"MET-{meeting.number}", meeting)
        count += 1
    return count


ROOM = 0.93
"""Of the fewest: with a lease of no seconds a statement more or less depends on the moment."""


def floor(least: dict[str, int], leases: str, *, swapped: bool = False) -> int:
    """Return how many meetings a pair must have, from the fewest that were measured.

    Measured on SQLite (WAL), PostgreSQL 15 and MariaDB 10.11, which differ by the statement that
    BEGIN is on the first, by what a lock makes impossible, and by the looks for locks.
    """
    fewest = least[f"{leases}, swapped" if swapped else leases] * ROOM
    return int(fewest / 2 if HALF else fewest)


ALL = os.environ.get("INTERLEAVINGS") == "all"
"""Play each pair both ways with both kinds of lease; otherwise one kind for each way."""
HALF = os.environ.get("INTERLEAVINGS") == "half"
"""Play every second order, like the black squares of a chessboard."""

with_leases = pytest.mark.parametrize("leases", ["held", "over"], indirect=True)
both_ways = pytest.mark.parametrize(
    ("leases", "swapped"),
    [("held", False), ("over", True)] + ([("held", True), ("over", False)] if ALL else []),
    indirect=["leases"],
)


@both_ways
def test_a_callback_against_a_webhook(place: Place, leases: str, swapped: bool) -> None:
    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference)
        return place.callback(reference), place.webhook(reference)

    least = {"held": 67, "held, swapped": 96, "over": 75, "over, swapped": 106}
    found = play(pair, swapped=swapped, again=place.callback)
    assert found >= floor(least, leases, swapped=swapped)
    assert not Verification.objects.exclude(state="settled").exists()


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("leases", ["held"], indirect=True)
def test_a_callback_against_a_webhook_with_an_external_handler(
    place: Place, leases: str, swapped: bool, configure: Any
) -> None:
    """While the lease holds nobody else runs it: with nobody killed, "at least once" is once.

    There is no lease that is over at once: who finds it so before the handler never runs it.
    """
    configure(HANDLER_ATOMIC=False)

    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference)
        return place.callback(reference), place.webhook(reference)

    least = {"held": 81, "held, swapped": 100}
    found = play(pair, swapped=swapped, again=place.callback)
    assert found >= floor(least, leases, swapped=swapped)


@with_leases
def test_a_late_pending_against_an_early_success(place: Place, leases: str) -> None:
    """The first may have its answer, and not have written it, when the payment is made."""

    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference, status="pending")
        return place.callback(reference), place.callback(reference)

    def paid(number: int) -> None:
        place.sandbox.set_transaction(f"MET-{number}", status="success")

    least = {"held": 72, "over": 79}
    assert play(pair, swapped=False, meanwhile=paid) >= floor(least, leases)


@with_leases
def test_a_late_success_against_an_early_failure(place: Place, leases: str) -> None:
    """The second caller may get "failed" once, after the first one got "paid"."""

    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference)
        return place.callback(reference), place.callback(reference)

    def flips(number: int) -> None:
        reference = f"MET-{number}"
        if place.sandbox.verify_calls(reference):
            place.sandbox.faults.add(
                operation="verify",
                kind="patch",
                data={"status": "failed"},
                reference=reference,
                times=1,
            )

    least = {"held": 59, "over": 64}
    assert play(pair, swapped=False, meanwhile=flips) >= floor(least, leases)


@both_ways
def test_the_sweep_against_a_callback(place: Place, leases: str, swapped: bool) -> None:
    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference, status="pending")
        place.webhook(reference)()
        place.sandbox.set_transaction(reference, status="success")
        return place.sweep(reference, asking=True), place.callback(reference)

    least = {"held": 126, "held, swapped": 134, "over": 146, "over, swapped": 164}
    found = play(pair, swapped=swapped, again=place.callback)
    assert found >= floor(least, leases, swapped=swapped)


@both_ways
def test_the_sweep_against_a_callback_for_a_delivery_that_failed(
    place: Place, leases: str, swapped: bool, configure: Any
) -> None:
    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference)
        configure(HANDLER="tests.reliability.crash.handlers.decline")
        assert place.callback(reference)() is Outcome.DELIVERY_FAILED
        configure(HANDLER="tests.support.goods.handlers.give")
        return place.sweep(reference, asking=False), place.callback(reference)

    least = {"held": 53, "held, swapped": 53, "over": 61, "over, swapped": 61}
    assert play(pair, swapped=swapped) >= floor(least, leases, swapped=swapped)


@both_ways
def test_approval_against_a_second_look(place: Place, leases: str, swapped: bool) -> None:
    """Staff accept too small an amount while the service comes to tell the right one."""

    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference, amount=9999)
        assert place.callback(reference)() is Outcome.HELD
        place.sandbox.set_transaction(reference, amount=10000)
        return place.approve(reference), place.reverify(reference)

    least = {"held": 143, "held, swapped": 110, "over": 149, "over, swapped": 116}
    assert play(pair, swapped=swapped) >= floor(least, leases, swapped=swapped)


@both_ways
def test_attribution_against_a_second_look(place: Place, leases: str, swapped: bool) -> None:
    """Staff name the page while the service is asked again; what they said is not lost."""

    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference)
        assert place.webhook(reference)() is Outcome.HELD
        return place.attribute(reference), place.reverify(reference)

    least = {"held": 140, "held, swapped": 131, "over": 146, "over, swapped": 139}
    found = play(pair, swapped=swapped, again=place.attribute)
    assert found >= floor(least, leases, swapped=swapped)
    pages = Transaction.objects.values_list("page", "attributed_by").distinct()
    assert list(pages) == [(place.page.pk, "staff")]


@both_ways
def test_attribution_against_the_payers_own_claim(place: Place, leases: str, swapped: bool) -> None:
    """Staff name the page while the payer comes back by its callback."""

    def pair(reference: str) -> tuple[Action, Action]:
        place.sandbox.pay("tea-box", reference=reference)
        assert place.webhook(reference)() is Outcome.HELD
        return place.attribute(reference), place.callback(reference)

    least = {"held": 107, "held, swapped": 140, "over": 115, "over, swapped": 140}
    assert play(pair, swapped=swapped) >= floor(least, leases, swapped=swapped)
    assert set(Transaction.objects.values_list("page", flat=True)) == {place.page.pk}


@pytest.mark.parametrize("swapped", [False, True])
def test_approval_against_rejection(place: Place, swapped: bool) -> None:
    """Of two people who decide, one is told that the row has changed."""

    def pair(number: int) -> tuple[Action, Action]:
        approve, reject = _decisions(place, f"MET-{number}")
        return (reject, approve) if swapped else (approve, reject)

    played = list(meetings(pair, half=HALF))
    assert len(played) >= (18 if swapped else 36) // (2 if HALF else 1)
    for meeting in played:
        approved, rejected = reversed(meeting.results) if swapped else meeting.results
        # Nobody waits for a row that the other one looks at: then the sweep delivers it.
        given = approved in {Outcome.DELIVERED, Outcome.DELIVERING}
        assert given is not rejected, meeting
        _sweep(meeting)
        row = Fulfilment.objects.get(transaction__reference=f"MET-{meeting.number}")
        state = FulfilmentState.REJECTED if rejected else FulfilmentState.DELIVERED
        assert row.state == state, meeting
        goods = Good.objects.filter(reference=f"MET-{meeting.number}").count()
        assert goods == (0 if rejected else 1), meeting


def _decisions(place: Place, reference: str) -> tuple[Action, Action]:
    place.sandbox.pay("tea-box", reference=reference, amount=9999)
    assert place.callback(reference)() is Outcome.HELD
    return place.approve(reference), place.reject(reference)
