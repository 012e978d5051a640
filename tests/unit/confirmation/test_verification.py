"""Which caller asks, which answer may be written, and when the service is asked again."""

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone

from payments_pages.choices import Door
from payments_pages.choices import VerificationState as State
from payments_pages.confirmation import confirm_payment, inbox, rivals, verification
from payments_pages.confirmation.due import forget_unknown
from payments_pages.exceptions import (
    AuthenticationFailed,
    NotAsked,
    NotFound,
    RateLimited,
    ServiceError,
    ServiceUnavailable,
)
from payments_pages.models import PaymentPage, Transaction, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass

pytestmark = pytest.mark.django_db

DOWN = ServiceUnavailable("The service could not be reached.")
MISSING = NotFound("The service does not know it now.", status=404)
HOUR = 3600


def received(reference: str = "PPG-1", **more: Any) -> tuple[Verification, verification.Claim]:
    usual = {"door": Door.CALLBACK, "page_hint": None, "vouched": False}
    row, claim = verification.receive(reference, reference_key(reference), **{**usual, **more})
    assert claim is not None
    return row, claim


def again(row: Verification, **more: bool) -> verification.Claim | None:
    row.refresh_from_db()
    return verification.claim(row, **{"refresh": False, "vouched": False, **more})


def state_of(row: Verification) -> str:
    row.refresh_from_db()
    return row.state


def wait_of(row: Verification) -> float:
    """Return about how many seconds are left until the row is due."""
    row.refresh_from_db()
    assert row.next_at is not None
    return (row.next_at - timezone.now()).total_seconds()


def test_the_row_is_inserted_already_claimed(sandbox: Sandbox, configure: Any) -> None:
    configure(DEADLINE=8)
    row, claim = received()
    assert (state_of(row), row.attempts, claim.attempt) == (State.VERIFYING, 1, 1)
    assert (row.mode, row.first_door, row.vouched) == ("test", "callback", False)
    assert 8 < wait_of(row) <= 15.5
    assert again(row) is None


@pytest.mark.django_db(transaction=True)
def test_who_comes_second_gets_the_row_and_no_claim(sandbox: Sandbox) -> None:
    row, _claim = received()
    theirs, none = verification.receive(
        "PPG-1", reference_key("PPG-1"), door=Door.WEBHOOK, page_hint=None, vouched=True
    )
    assert (theirs.pk, theirs.first_door, none) == (row.pk, Door.CALLBACK, None)


@pytest.mark.django_db(transaction=True)
def test_an_integrity_error_that_is_no_duplicate_is_raised(sandbox: Sandbox) -> None:
    """To take this error for a duplicate would lose the payment."""
    with pytest.raises(IntegrityError):
        verification.receive(
            "PPG-1",
            None,  # type: ignore[arg-type] - the one way to break a constraint on every database
            door=Door.CALLBACK,
            page_hint=None,
            vouched=False,
        )
    assert not Verification.objects.exists()


def test_of_two_claims_on_one_reading_one_wins(sandbox: Sandbox) -> None:
    row, claim = received()
    verification.fail(claim, DOWN, known=False)
    let_time_pass(3)
    first, second = (Verification.objects.get(pk=row.pk) for _rival in range(2))
    won = [verification.claim(r, refresh=False, vouched=False) for r in (first, second)]
    assert [claim and claim.attempt for claim in won] == [2, None]


def test_a_reading_that_is_out_of_date_wins_no_claim(sandbox: Sandbox) -> None:
    """A rival has asked and has ended: its attempt must not be taken for ours."""
    row, claim = received()
    verification.fail(claim, DOWN, known=False)
    let_time_pass(3)
    stale = Verification.objects.get(pk=row.pk)
    rival = again(row)
    assert rival is not None
    verification.fail(rival, DOWN, known=False)
    let_time_pass(3)
    assert verification.claim(stale, refresh=False, vouched=False) is None


def test_a_door_asks_at_once_but_not_twice_within_two_seconds(sandbox: Sandbox) -> None:
    row, claim = received()
    verification.fail(claim, DOWN, known=False)
    assert again(row) is None
    let_time_pass(1)
    assert again(row) is None
    let_time_pass(1.5)
    assert wait_of(row) > 1, "the schedule alone would not ask yet"
    assert again(row) is not None


def test_a_lease_that_ended_is_taken_over_and_fences_its_holder_off(sandbox: Sandbox) -> None:
    row, claim = received()
    let_time_pass(60)
    later = again(row)
    assert later is not None
    assert later.attempt == 2
    for late in (
        verification.settle(claim, settled=True, status="success"),
        verification.settle(claim, settled=False, status="failed"),
        verification.fail(claim, DOWN, known=False),
    ):
        assert late is False
    assert state_of(row) == State.VERIFYING
    assert verification.settle(later, settled=True, status="success")
    assert (state_of(row), row.next_at) == (State.SETTLED, None)


def test_an_answer_is_written_once(sandbox: Sandbox) -> None:
    _row, claim = received()
    assert verification.settle(claim, settled=True, status="success")
    assert not verification.settle(claim, settled=True, status="success")


def test_what_is_settled_is_asked_again_only_on_request(sandbox: Sandbox) -> None:
    row, claim = received()
    verification.settle(claim, settled=True, status="success")
    let_time_pass(HOUR)
    assert again(row) is None
    assert again(row, refresh=True) is not None


def test_who_vouches_is_noted_and_never_unnoted(sandbox: Sandbox) -> None:
    row, claim = received()
    for vouched in (True, False):
        verification.fail(claim, DOWN, known=False)
        let_time_pass(10)
        claim = again(row, vouched=vouched)  # type: ignore[assignment] - it is due
        row.refresh_from_db()
        assert row.vouched


@pytest.mark.parametrize(
    ("age", "least", "most"),
    [
        (0, 4, 8),
        (6, 28, 45),
        (36, 118, 180),
        (200, 550, 860),
        (800, 3550, 5400),
        (4400, 6 * HOUR - 100, 9 * HOUR),
        (10 * HOUR, 6 * HOUR - 100, 9 * HOUR),
        (71 * HOUR, 6 * HOUR - 100, 9 * HOUR),
    ],
)
@pytest.mark.parametrize("status", [None, "failed", "pending"])
def test_the_schedule_grows_with_the_time_since_it_was_named(
    sandbox: Sandbox, age: float, least: float, most: float, status: str | None
) -> None:
    row, _claim = received()
    let_time_pass(age)
    claim = again(row) or verification.Claim(row.pk, 1)
    if status is None:
        verification.fail(claim, DOWN, known=False)
    else:
        verification.settle(claim, settled=False, status=status)
    assert state_of(row) == State.DUE
    assert least <= wait_of(row) <= most


def test_after_three_days_nobody_asks_by_themselves_but_a_door_may(sandbox: Sandbox) -> None:
    row, _claim = received()
    let_time_pass(72 * HOUR + 1)
    claim = again(row)
    assert claim is not None
    verification.fail(claim, MISSING, known=False)
    assert (state_of(row), row.next_at) == (State.LAPSED, None)
    assert not Verification.objects.due().exists()
    let_time_pass(5)
    claim = again(row)
    assert claim is not None
    verification.fail(claim, MISSING, known=False)
    assert state_of(row) == State.UNKNOWN, "somebody has come for it: three days anew"


@pytest.mark.parametrize(
    "error", [DOWN, RateLimited("busy", status=429), AuthenticationFailed("no", status=401)]
)
def test_what_says_nothing_about_a_payment_never_ends_the_asking(
    sandbox: Sandbox, error: ServiceError
) -> None:
    row, _claim = received()
    let_time_pass(100 * HOUR)
    claim = again(row)
    assert claim is not None
    verification.fail(claim, error, known=False)
    assert state_of(row) == State.DUE
    assert wait_of(row) <= 9 * HOUR


@pytest.mark.parametrize(
    ("status", "asked"),
    [("failed", False), ("abandoned", False), ("reversed", False)]
    + [(status, True) for status in ("pending", "ongoing", "processing", "queued", "Success", "")],
)
def test_only_what_the_service_calls_failed_is_given_up(
    sandbox: Sandbox, status: str, asked: bool
) -> None:
    row, _claim = received()
    let_time_pass(100 * HOUR)
    claim = again(row)
    assert claim is not None
    verification.settle(claim, settled=False, status=status)
    assert state_of(row) == (State.DUE if asked else State.LAPSED)
    if asked:
        assert 12 * HOUR - 100 <= wait_of(row) <= 18 * HOUR


def test_the_service_may_ask_for_a_longer_wait(sandbox: Sandbox) -> None:
    row, claim = received()
    verification.fail(claim, RateLimited("busy", status=429, retry_after=120), known=False)
    assert 118 < wait_of(row) < 216
    assert row.last_error == "RateLimited: busy"


@pytest.mark.parametrize("age", [0, HOUR, 71 * HOUR, 100 * HOUR])
def test_one_that_was_not_asked_about_is_due_again_in_seconds_whatever_its_age(
    sandbox: Sandbox, age: float
) -> None:
    row, _claim = received()
    let_time_pass(age)
    claim = again(row) or verification.Claim(row.pk, 1)
    verification.fail(claim, NotAsked("not asked: the house is full", retry_after=8), known=False)
    assert state_of(row) == State.DUE
    assert 7 < wait_of(row) <= 12
    assert row.last_error == "not asked: the house is full"


def test_a_reference_the_service_does_not_know_is_asked_again(sandbox: Sandbox) -> None:
    row, claim = received()
    verification.fail(claim, NotFound("The service does not know it now.", status=404), known=False)
    assert state_of(row) == State.UNKNOWN
    let_time_pass(10)
    assert list(Verification.objects.due()) == [row]


def test_unknown_references_nobody_vouched_for_are_forgotten_after_a_day(
    sandbox: Sandbox,
) -> None:
    missing = NotFound("The service does not know it now.", status=404)
    for reference, vouched in (("OLD", False), ("VOUCHED", True)):
        verification.fail(received(reference, vouched=vouched)[1], missing, known=False)
    verification.fail(received("DOWN")[1], DOWN, known=False)
    assert forget_unknown() == 0
    let_time_pass(25 * HOUR)
    verification.fail(received("NEW")[1], missing, known=False)
    assert forget_unknown() == 1
    left = set(Verification.objects.values_list("reference", flat=True))
    assert left == {"VOUCHED", "DOWN", "NEW"}


def test_a_mirrored_payment_is_never_forgotten_though_the_service_forgets_it(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """The verification is the guard: without it, the next visit would find only the transaction."""
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(80 * HOUR)
    sandbox.faults.add(
        operation="verify", kind="status", status=404, body={"status": False, "message": "gone"}
    )
    found = confirm_payment(reference, door=Door.ADMIN, refresh=True)
    assert found.outcome == "already_delivered"
    assert forget_unknown() == 0
    Verification.objects.update(state=State.UNKNOWN)
    assert forget_unknown() == 0
    assert Transaction.objects.count() == Verification.objects.count() == 1


def test_the_first_page_claimed_stays(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    row, claim = received()
    inbox.set_page_hint(row, tea_box.token)
    second = PaymentPage.objects.create(name="B", slug="b", slug_key="b")
    inbox.set_page_hint(row, second.token)
    row.refresh_from_db()
    assert row.page_claim == tea_box.token == inbox.page_hint_of(claim.pk)


def test_a_claim_to_no_page_of_ours_keeps_nobody_out(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    row, _claim = received(page_hint=uuid.uuid4())
    inbox.set_page_hint(row, tea_box.token)
    row.refresh_from_db()
    assert row.page_claim == tea_box.token


def test_who_waits_for_a_rival_waits_briefly(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 0.1)
    row, claim = received()
    waiting = verification.await_rival(row.reference_key)
    assert waiting is not None
    assert waiting.state == State.VERIFYING
    verification.settle(claim, settled=True, status="success")
    done = verification.await_rival(row.reference_key)
    assert done is not None
    assert done.state == State.SETTLED
    assert verification.await_rival(reference_key("NOBODY")) is None


def test_the_guard_is_one_statement_after_a_look(
    sandbox: Sandbox, django_assert_num_queries: Any
) -> None:
    row, claim = received()
    verification.fail(claim, DOWN, known=False)
    let_time_pass(10)
    row.refresh_from_db()
    look = int(connection.features.has_select_for_update)  # a locked row is not waited for
    with django_assert_num_queries(1 + look, connection=connection):
        verification.claim(row, refresh=False, vouched=False)
