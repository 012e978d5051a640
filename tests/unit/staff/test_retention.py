"""What may be deleted, and that a payment still cannot be delivered twice after it."""

import datetime as dt
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from payments_pages import testing
from payments_pages.choices import (
    Door,
    EventKind,
    FulfilmentState,
    Outcome,
    Reason,
    VerificationState,
)
from payments_pages.confirmation import confirm_payment
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.staff import forget_payers, purge_events, purge_lapsed
from tests.conftest import expect_payment
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

YEAR = dt.timedelta(days=365)
ALL = ("--events-older-than", "365d", "--lapsed-older-than", "365d", "--payers-older-than", "365d")


def purge(*arguments: str) -> str:
    out = StringIO()
    call_command("payments_pages_purge", *arguments, stdout=out)
    return out.getvalue().strip()


def age(days: int = 400) -> None:
    """Make everything that is there so many days old."""
    past = timezone.now() - dt.timedelta(days=days)
    Event.objects.update(happened_at=past)
    Verification.objects.update(named_at=past, asked_at=past)
    Transaction.objects.update(verified_at=past)


def paid(sandbox: Sandbox, page: PaymentPage, **fields: Any) -> str:
    """Pay and be delivered, or whatever the payment deserves."""
    return testing.pay(sandbox, page, **fields).reference


def run(work: Any, **more: Any) -> int:
    count: int = work(YEAR, **{"batch": 2, "dry_run": False, "progress": lambda done: None, **more})
    return count


# What is left alone


def test_without_options_nothing_is_done(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    paid(sandbox, tea_box)
    age()
    assert purge().startswith("Nothing was purged: say what")
    assert Event.objects.count() == 3
    assert Transaction.objects.get().customer_email


@pytest.mark.parametrize("text", ["29d", "0d", "-1d", "400", "1y", "400 d", "٤٠٠d", ""])
def test_an_age_is_a_number_of_days_and_at_least_thirty(text: str) -> None:
    with pytest.raises(CommandError, match=r"30d are kept|write days|expected one argument"):
        purge("--events-older-than", text)


@pytest.mark.parametrize("work", [purge_events, purge_lapsed, forget_payers])
def test_no_caller_can_go_below_thirty_days(work: Any) -> None:
    with pytest.raises(ValueError, match="At least 30 days"):
        work(dt.timedelta(days=29), batch=1, dry_run=True, progress=print)


def test_a_batch_is_above_zero() -> None:
    with pytest.raises(CommandError, match="--batch"):
        purge("--batch", "0", "--events-older-than", "400d")


def test_a_dry_run_counts_and_deletes_nothing(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    paid(sandbox, tea_box)
    ExpectedPayment.objects.expect(amount=5, currency="ILS")
    Verification.objects.filter(first_door=Door.EXPECTED).update(state=VerificationState.LAPSED)
    age()
    counts = "3 events, 1 references given up, 1 payers forgotten, 0 saved cards."
    assert purge(*ALL, "--dry-run") == f"Would purge: {counts}"
    assert Event.objects.count() == 3
    assert purge(*ALL) == f"Purged: {counts}"
    assert (
        purge(*ALL) == "Purged: 0 events, 0 references given up, 0 payers forgotten, 0 saved cards."
    )


# The timeline


def test_only_old_events_go_in_batches_each_a_short_transaction(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    for _number in range(3):
        paid(sandbox, tea_box)
    age()
    young = paid(sandbox, tea_box)
    told: list[int] = []
    with CaptureQueriesContext(
        connection,
    ) as found:
        assert run(purge_events, progress=told.append) == 9
    assert told[-1] == 9
    assert len(told) == 5
    deletes = [q["sql"] for q in found.captured_queries if q["sql"].startswith("DELETE")]
    assert len(deletes) == 5
    left = set(Event.objects.values_list("reference_key", flat=True))
    assert left == {reference_key(young)}


def test_the_timeline_of_what_is_still_held_stays(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    held = paid(sandbox, tea_box, amount=1)
    paid(sandbox, tea_box)
    refused = paid(sandbox, tea_box, amount=1)
    Fulfilment.objects.filter(reference_key=reference_key(refused)).update(
        state=FulfilmentState.REJECTED, reason=Reason.NONE
    )
    age()
    run(purge_events)
    assert set(Event.objects.values_list("reference_key", flat=True)) == {reference_key(held)}


# References given up


def test_what_was_given_up_without_a_transaction_goes_and_may_come_again(sandbox: Sandbox) -> None:
    """An expected payment that nobody made in days, and somebody makes after a year."""
    expected = ExpectedPayment.objects.expect(amount=500, currency="ILS")
    testing.run_sweep(after=100 * 3600)
    assert Verification.objects.get().state == VerificationState.LAPSED
    assert run(purge_lapsed) == 0
    age()
    assert run(purge_lapsed) == 1
    assert Verification.objects.count() == 0
    visit = testing.pay_expected(sandbox, expected)
    testing.assert_delivered_once(visit.reference, Good.objects.all())


def test_what_was_given_up_with_a_transaction_stays(sandbox: Sandbox) -> None:
    """An abandoned checkout is mirrored: its reference must be found again, for it may be paid."""
    expected = ExpectedPayment.objects.expect(amount=500, currency="ILS")
    sandbox.start_checkout(expected.reference, amount=500, currency="ILS")
    testing.run_sweep(after=100 * 3600)
    assert Verification.objects.get().state == VerificationState.LAPSED
    assert Transaction.objects.get().status == "abandoned"
    age()
    assert run(purge_lapsed) == 0
    sandbox.end_checkout(expected.reference)
    assert confirm_payment(expected.reference, door=Door.CONFIRM).outcome is Outcome.DELIVERED
    assert Good.objects.count() == 1


@pytest.mark.parametrize(
    "state", [state for state in VerificationState if state not in VerificationState.given_up()]
)
def test_a_reference_that_is_not_given_up_stays(sandbox: Sandbox, state: str) -> None:
    expect_payment("A-1")
    Verification.objects.create(
        reference="A-1", reference_key=reference_key("A-1"), mode="test", state=state, vouched=True
    )
    age()
    assert run(purge_lapsed) == 0


# Payers' data


@pytest.mark.parametrize(
    "known",
    [
        {"metadata": {"custom_fields": [{"display_name": "Street", "value": "Rose Lane 7"}]}},
        {"metadata": ""},
        {"authorization": {"last4": "4081"}},
        {"log": {"history": []}},
        {"unreadable": {"email": "payer@"}},
        {"customer_name": "Noor Haddad"},
        {"customer_last_name": "Haddad"},
        {"customer_phone_end": "91234567"},
        {"card_last4": "4081"},
    ],
)
def test_whatever_is_known_of_a_payer_alone_is_forgotten_once(
    sandbox: Sandbox, tea_box: PaymentPage, known: dict[str, Any]
) -> None:
    paid(sandbox, tea_box)
    age()
    run(forget_payers)
    Transaction.objects.update(**known)
    assert run(forget_payers) == 1
    row = Transaction.objects.get()
    assert (row.metadata, row.authorization, row.log, row.unreadable) == (None, {}, {}, {})
    assert row.customer_name == row.customer_last_name == ""
    assert row.customer_phone_end == row.card_last4 == ""
    assert row.answers == {}
    assert run(forget_payers) == 0


def test_payers_are_forgotten_and_the_payment_is_not(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = paid(sandbox, tea_box, email="payer@example.test", metadata={"address": "Nablus"})
    held = paid(sandbox, tea_box, amount=1)
    declined = paid(sandbox, tea_box, status="failed")
    age()
    Verification.objects.filter(reference=declined).update(state=VerificationState.LAPSED)
    paid(sandbox, tea_box)
    assert run(forget_payers) == 2
    row = Transaction.objects.get(reference=reference)
    assert (row.amount, row.status, row.page) == (10000, "success", tea_box)
    assert (row.ip_address, row.customer_email, row.metadata) == ("", "", None)
    assert row.answers == {}
    assert row.customer == row.authorization == row.log == row.unreadable == {}
    assert Transaction.objects.get(reference=declined).customer_email == ""
    assert Transaction.objects.get(reference=held).customer_email
    assert Transaction.objects.exclude(customer_email="").count() == 2
    answer = Client().get(reverse("payments_pages:result", args=[row.token]))
    assert answer.status_code == 200
    assert run(forget_payers) == 0


def test_a_payment_that_is_still_asked_about_keeps_its_payer(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    paid(sandbox, tea_box, status="failed")
    age()
    assert run(forget_payers) == 0


# Once, after all that


DOORS = ("callback", "webhook", "confirm", "command", "refresh", "sweep", "rush")


@pytest.mark.parametrize("door", DOORS)
def test_a_reference_that_comes_again_after_a_purge_is_not_delivered_again(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, door: str
) -> None:
    configure(WEBHOOK_HEADER="x-lahza-signature", WEBHOOK_ALGORITHM="sha256")
    reference = paid(sandbox, tea_box)
    testing.assert_delivered_once(reference, Good.objects.all())
    age()
    purge(*ALL)
    assert Event.objects.count() == 0
    ways: dict[str, Any] = {
        "callback": lambda: testing.come_back(reference, page=tea_box),
        "webhook": lambda: testing.send_webhook(reference),
        "confirm": lambda: confirm_payment(reference, door=Door.CONFIRM),
        "command": lambda: call_command("payments_pages_confirm", reference, stdout=StringIO()),
        "refresh": lambda: confirm_payment(reference, door=Door.ADMIN, refresh=True, vouched=True),
        "sweep": lambda: testing.run_sweep(after=10**6),
        "rush": lambda: testing.rush(reference, page=tea_box),
    }
    ways[door]()
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().attempts == 1
    assert not Event.objects.filter(kind=EventKind.DELIVERED).exists()
    assert sandbox.verify_calls(reference) == (2 if door == "refresh" else 1)


def test_a_settled_reference_is_never_purged_for_it_answers_without_a_call(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    """Why there is no option for it. By hand it costs a call; never an error or a second delivery."""
    reference = paid(sandbox, tea_box)
    age()
    purge(*ALL)
    assert Verification.objects.get().state == VerificationState.SETTLED
    Verification.objects.all().delete()
    for _visit in range(3):
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        assert found.outcome == Outcome.ALREADY_DELIVERED
    assert sandbox.verify_calls(reference) == 2
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().attempts == 1
    assert Verification.objects.get().state == VerificationState.SETTLED


def test_progress_is_shown_on_a_terminal_only(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    paid(sandbox, tea_box)
    age()
    out = Terminal()
    call_command("payments_pages_purge", *ALL, "--dry-run", stdout=out)
    assert "3 events …" in out.getvalue()
    assert "…" not in purge(*ALL)
