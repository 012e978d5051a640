"""The sums that are kept of past days are those of the payments, whatever happens to either."""

import datetime as dt
import io
import itertools
import logging
from collections import defaultdict
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db import transaction as db_transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from payments_pages.choices import Door
from payments_pages.client import TransactionResource
from payments_pages.confirmation import confirm_payment, find_transaction
from payments_pages.confirmation.attribution import Attribution
from payments_pages.confirmation.mirror import Counted, counted, merge_answer, write
from payments_pages.db import retry_transient
from payments_pages.models import KeptDay, LateChange, PaymentPage, Transaction
from payments_pages.money import fold_currency
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.staff import (
    DAYS,
    compare_days,
    day_bounds,
    keep_days,
    keep_some_days,
    kept_days,
    take_totals,
)
from payments_pages.testing import let_time_pass

pytestmark = pytest.mark.django_db

KEPT = 2 * 5
"""Of both modes: of seven days those that are kept, without yesterday and today."""
_numbers = itertools.count(1)

Totals = dict[tuple[str, dt.datetime], tuple[int, int, int]]
"""By currency and day: count, amount, unreadable."""


@pytest.fixture
def all_days() -> None:
    """Let a test keep all days of the totals."""


@pytest.fixture(autouse=True)
def _few_days(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep seven days, which is quicker."""
    if "all_days" not in request.fixturenames:
        monkeypatch.setattr(kept_days, "day_bounds", lambda: day_bounds(days=7))


def merged(reference: str, **fields: Any) -> tuple[Transaction, Counted | None]:
    """Read an answer of the service as the path does, a new one or one about a known payment.

    Return it with how the stored payment was counted.
    """
    usual = {"status": "success", "domain": "test", "amount": 100, "currency": "ILS"}
    answer = TransactionResource.from_payload({"reference": reference, **usual, **fields})
    key = reference_key(reference)
    found = find_transaction(key)
    existing = found.transaction if found else None
    before = counted(existing) if existing else None
    return merge_answer(existing, answer, key=key, attribution=Attribution()), before


def record(reference: str = "", **fields: Any) -> str:
    """Write such an answer, as the path does: if the database undoes it, once more."""
    reference = reference or f"K-{next(_numbers)}"

    def once(_number: int) -> None:
        row, before = merged(reference, **fields)
        with db_transaction.atomic():
            write(row, before=before)

    retry_transient(once, using="default")
    return reference


def on(day: int, hour: float = 12) -> str:
    """A time, as the service writes it, so many days ago in the project's zone."""
    return (day_bounds()[-2 - day] + dt.timedelta(hours=hour)).astimezone(dt.UTC).isoformat()


def summed(mode: str = "test") -> Totals:
    """The plain sum over all payments, by Python."""
    found: Totals = defaultdict(lambda: (0, 0, 0))
    for row in Transaction.objects.filter(paid_at__isnull=False):
        for since, until in pairwise(day_bounds()):
            if row.status == "success" and row.domain == mode and since <= row.paid_at < until:
                count, amount, unreadable = found[fold_currency(row.currency), since]
                found[fold_currency(row.currency), since] = (
                    count + 1,
                    amount + (row.amount or 0),
                    unreadable + (row.amount is None),
                )
    return dict(found)


def shown(mode: str = "test") -> Totals:
    """The totals that staff see."""
    return {
        (currency.code, day.since): (day.count, day.amount, day.unreadable)
        for currency in take_totals(mode)
        for day in currency.days
        if day.count
    }


def is_right() -> bool:
    return all(shown(mode) == summed(mode) for mode in ("test", "live"))


def standing() -> int:
    return KeptDay.objects.standing().count()


# What is kept


@pytest.mark.usefixtures("all_days")
def test_days_that_are_over_since_a_day_are_kept_of_both_modes_also_without_payments() -> None:
    record(paid_at=on(3))
    assert keep_days() == standing() == 2 * (DAYS - 2)
    assert keep_days() == 0, "nothing is left to do"
    latest = max(KeptDay.objects.standing().values_list("until", flat=True))
    assert latest == day_bounds()[-3], "yesterday and today are not"
    assert is_right()


def test_kept_days_are_not_summed_up_again() -> None:
    """Behind our back all payments are deleted: what is kept is still shown, and found wrong."""
    for day in range(5):
        record(paid_at=on(day))
    keep_days()
    Transaction.objects.all().delete()
    assert {since for _code, since in shown()} == {
        dt.datetime.fromisoformat(on(day, hour=0)) for day in (2, 3, 4)
    }
    assert len(compare_days()) == 3


@pytest.mark.usefixtures("all_days")
def test_a_view_reads_the_payments_of_two_days_only() -> None:
    keep_days()
    with CaptureQueriesContext(connection) as queries:
        take_totals("test")
    _kept, live = (query["sql"] for query in queries.captured_queries)

    # PostgreSQL is sent local times, the others UTC.
    def names(moment: dt.datetime) -> bool:
        forms = (moment, moment.astimezone(dt.UTC))
        return any(f"{form:%Y-%m-%d %H:%M:%S}" in live for form in forms)

    assert [names(bound) for bound in day_bounds()] == [False] * (DAYS - 2) + [True] * 3


KINDS: dict[str, dict[str, Any]] = {
    "an amount that cannot be read": {"amount": "much"},
    "a currency in small letters": {"currency": "ils"},
    "another currency": {"currency": "JOD", "amount": 7},
    "no currency": {"currency": ""},
    "the other mode": {"domain": "live"},
    "a mode nobody knows": {"domain": "demo"},
    "failed": {"status": "failed"},
    "reversed": {"status": "reversed"},
    "no time": {"paid_at": None},
    "an impossible time": {"paid_at": "2026-13-45"},
    "the first moment of a day": {"paid_at": 0},
    "the last moment of a day": {"paid_at": 23.9999},
    "in the future": {"paid_at": "2199-01-01T00:00:00Z"},
    "long before": {"paid_at": "1999-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", ["kept first", "written first"])
def test_whatever_a_payment_is_like_the_totals_are_its_sum(kind: str, first: str) -> None:
    fields = {"paid_at": on(4), **KINDS[kind]}
    if isinstance(fields["paid_at"], int | float):
        fields["paid_at"] = on(4, hour=fields["paid_at"])
    record(paid_at=on(4))
    if first == "kept first":
        keep_days()
    record(**fields)
    assert is_right()
    keep_days()
    assert is_right()
    assert standing() == KEPT
    assert compare_days() == []


CHANGES: dict[str, dict[str, Any]] = {
    "reversed": {"status": "reversed"},
    "its amount": {"amount": 700},
    "its amount cannot be read now": {"amount": "much"},
    "its currency": {"currency": "JOD"},
    "how its currency is written": {"currency": "ils"},
    "its mode": {"domain": "live"},
    "it was paid on another day": {"paid_at": 5},
    "it was paid today": {"paid_at": 0},
    "it was never paid": {"paid_at": None},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_about_an_old_payment_the_totals_change_with_it(change: str) -> None:
    record("OLD", paid_at=on(4))
    record(paid_at=on(5))
    keep_days()
    fields = {"paid_at": on(4), **CHANGES[change]}
    if isinstance(fields["paid_at"], int):
        fields["paid_at"] = on(fields["paid_at"])
    record("OLD", **fields)
    assert is_right()
    assert standing() < KEPT
    assert keep_days() in {1, 2}
    assert is_right()
    assert not LateChange.objects.exists()


def test_an_old_payment_that_is_asked_about_again_and_is_the_same_changes_nothing() -> None:
    record("OLD", paid_at=on(4))
    keep_days()
    record("OLD", paid_at=on(4), gateway_response="Approved, as before")
    assert not LateChange.objects.exists()
    assert standing() == KEPT


def test_what_is_undone_leaves_neither_a_payment_nor_a_note() -> None:
    record("OLD", paid_at=on(4))
    keep_days()
    with db_transaction.atomic():
        record("OLD", paid_at=on(4), status="reversed")
        assert LateChange.objects.exists()
        db_transaction.set_rollback(True)
    assert not LateChange.objects.exists()
    assert standing() == KEPT
    assert is_right()


def test_a_payment_just_made_leaves_no_note_and_costs_no_statement() -> None:
    keep_days()
    counts = []
    for paid_at in (timezone.now(), timezone.now() - dt.timedelta(hours=11), None):
        with CaptureQueriesContext(connection) as queries:
            record(paid_at=paid_at and paid_at.isoformat())
        counts.append(len(queries))
        assert not [q for q in queries if "latechange" in q["sql"] or "keptday" in q["sql"]]
    assert counts[0] == counts[1] == counts[2]
    assert not LateChange.objects.exists()


def test_a_late_payment_that_comes_by_a_door_is_noted(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    keep_days()
    sandbox.pay("tea-box", reference="LATE", paid_at=on(5))
    confirm_payment("LATE", door=Door.CALLBACK, page_token=tea_box.token)
    assert LateChange.objects.count() == 1
    assert is_right()
    sandbox.set_transaction("LATE", status="reversed")
    keep_days()
    let_time_pass(10)
    confirm_payment("LATE", door=Door.ADMIN, refresh=True)
    assert Transaction.objects.get().status == "reversed"
    assert LateChange.objects.count() == 1
    assert is_right()


@pytest.mark.usefixtures("all_days")
def test_holes_between_kept_days_are_summed_up_by_one_query() -> None:
    for day in range(DAYS):
        record(paid_at=on(day), amount=2**day)
    keep_days()
    for day in (3, 4, 8, 29):
        record(paid_at=on(day), amount=2**40)
    with CaptureQueriesContext(connection) as queries:
        take_totals("test")
    assert len(queries) == 2
    assert is_right()


def test_a_sum_may_be_larger_than_a_number_of_64_bits_in_all() -> None:
    for day in (3, 4, 5):
        record(paid_at=on(day), amount=2**63 - 1)
    keep_days()
    (currency,) = take_totals("test")
    assert currency.last(30).amount == 3 * (2**63 - 1)


def test_a_day_that_cannot_be_summed_up_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = day_bounds()[-5]
    sums = kept_days._sums

    def fail(mode: str, since: dt.datetime, until: dt.datetime) -> Any:
        if since == bad:
            raise OperationalError("integer overflow")
        return sums(mode, since, until)

    monkeypatch.setattr(kept_days, "_sums", fail)
    # An error without a driver's code is one of the connection.
    monkeypatch.setattr(kept_days, "is_transient", lambda _error: False)
    monkeypatch.setattr(kept_days, "retry_transient", lambda act, using: act(0))
    assert keep_days() == KEPT - 2
    assert [one.message for one in caplog.records] == ["totals.not_kept: OperationalError"] * 2
    record(paid_at=on(3))
    assert is_right()


# Days and clocks


def test_in_another_time_zone_the_days_are_others_and_none_is_counted_twice(settings: Any) -> None:
    for day, hour in itertools.product((2, 3, 4), (1, 12, 23)):
        record(paid_at=on(day, hour), amount=10**hour)
    keep_days()
    settings.TIME_ZONE = "America/New_York"
    assert is_right()
    assert {bound.hour for bound in day_bounds()} == {0}
    assert keep_days() == KEPT
    assert is_right()
    settings.TIME_ZONE = "Asia/Hebron"
    record(paid_at=on(3, 2), amount=5)
    assert is_right()
    settings.TIME_ZONE = "America/New_York"
    keep_days()
    assert is_right()
    settings.TIME_ZONE = "Asia/Hebron"
    assert is_right(), "the note that New York has seen was Hebron's, too"


@pytest.mark.parametrize(
    ("zone", "skipped"),
    [("Africa/Cairo", dt.date(2026, 4, 24)), ("Asia/Beirut", dt.date(2026, 3, 29))],
)
def test_a_day_without_a_midnight_is_kept_once_and_read(
    settings: Any, monkeypatch: pytest.MonkeyPatch, zone: str, skipped: dt.date
) -> None:
    """For Python the time that such a zone skips equals no time of another zone."""
    settings.TIME_ZONE = zone
    today = skipped + dt.timedelta(days=4)
    monkeypatch.setattr(kept_days, "day_bounds", lambda: day_bounds(today, days=7))
    record(paid_at=f"{skipped}T12:00:00Z", amount=100)
    assert keep_days() == KEPT
    assert keep_days() == 0
    kept = KeptDay.objects.exclude(sums={}).get()
    KeptDay.objects.filter(pk=kept.pk).update(
        sums={"ILS": {"count": 7, "amount": "700", "unreadable": 0}}
    )
    (shekels,) = take_totals("test", today=today)
    assert shekels.last(7).count == 7


@pytest.mark.usefixtures("all_days")
def test_days_in_which_clocks_change_have_their_own_length(monkeypatch: pytest.MonkeyPatch) -> None:
    hebron = ZoneInfo("Asia/Hebron")
    now = dt.datetime(2025, 11, 5, 12, tzinfo=hebron)
    monkeypatch.setattr(timezone, "now", lambda: now)
    first = day_bounds()[0].astimezone(dt.UTC)
    for hour in range(DAYS * 24 + 1):
        record(paid_at=(first + dt.timedelta(hours=hour)).isoformat())
    plain = summed()
    assert sorted(count for count, _amount, _none in plain.values()) == [24] * 29 + [25]
    keep_days()
    assert shown() == plain


@pytest.mark.parametrize("days", [-30, -2, 2, 30])
def test_the_wrong_clock_of_who_keeps_days_keeps_none_too_early(
    days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the database's clock says that a day is over."""
    right = timezone.now
    with monkeypatch.context() as wrong:
        wrong.setattr(timezone, "now", lambda: right() + dt.timedelta(days=days))
        keep_days()
    ends = KeptDay.objects.standing().values_list("until", flat=True)
    assert all(end <= right() - kept_days.KEPT_AFTER for end in ends)
    record(paid_at=on(0))
    record(paid_at=on(1))
    assert is_right()


def test_what_left_the_totals_is_forgotten_with_its_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    record(paid_at=on(4))
    keep_days()
    record(paid_at=on(4))
    record(paid_at=on(29))
    right = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: right() + dt.timedelta(days=100))
    keep_days()
    assert standing() == 0
    assert not LateChange.objects.exists()
    monkeypatch.undo()
    assert is_right()
    keep_days()
    assert is_right()


# The sweep and the command


def totals(*arguments: str) -> str:
    out = io.StringIO()
    call_command("payments_pages_totals", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.usefixtures("all_days")
@pytest.mark.django_db(transaction=True)
def test_the_sweep_keeps_some_days_at_a_time() -> None:
    for number in range(1, 4):
        call_command("payments_pages_sweep", stdout=io.StringIO())
        assert standing() == kept_days.SOME * number


def test_a_database_that_fails_the_keeping_does_not_fail_the_sweep(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_options: Any) -> int:
        raise OperationalError("database is locked")

    monkeypatch.setattr(kept_days, "keep_days", fail)
    with caplog.at_level(logging.WARNING):
        keep_some_days()
    assert [one.message for one in caplog.records] == ["totals.not_kept: OperationalError"]


def test_the_command_keeps_all_days_at_once_and_says_how_many() -> None:
    record(paid_at=on(3))
    assert totals() == f"Kept the sums of {KEPT} days, of both modes.\n"
    assert totals() == "Kept the sums of 0 days, of both modes.\n"
    assert totals("--compare") == f"Compared {KEPT} days, of both modes: no difference.\n"


def test_payments_written_by_other_means_are_found_and_mended() -> None:
    """An import, or SQL by hand, writes no notes."""
    row = Transaction.objects.get(reference=record(paid_at=on(3), amount=500))
    record(paid_at=on(3), currency="JOD")
    keep_days()
    Transaction.objects.filter(pk=row.pk).update(amount=900)
    assert not is_right()
    out = io.StringIO()
    with pytest.raises(CommandError, match="--rebuild"):
        call_command("payments_pages_totals", "--compare", stdout=out)
    since = day_bounds()[-5].astimezone(dt.UTC)
    assert out.getvalue() == (
        f"test {since:%Y-%m-%d %H:%M} UTC ILS: kept 1 payment, 500 minor units, 0 unreadable; "
        "found 1 payment, 900 minor units, 0 unreadable\n"
    )
    assert totals("--rebuild") == f"Kept the sums of {KEPT} days, of both modes.\n"
    assert is_right()
    assert "no difference" in totals("--compare")


def test_to_compare_and_to_rebuild_at_once_is_refused() -> None:
    with pytest.raises(CommandError, match="not allowed with"):
        totals("--compare", "--rebuild")


# Whatever happens, in any order

PAYMENTS = st.fixed_dictionaries(
    {
        "reference": st.sampled_from(["A", "B", "C"]),
        "status": st.sampled_from(["success", "success", "failed", "reversed"]),
        "domain": st.sampled_from(["test", "test", "live", "demo"]),
        "amount": st.sampled_from([1, 20, 300, "much", None]),
        "currency": st.sampled_from(["ILS", "ils", "JOD", ""]),
        "day": st.sampled_from([0, 1, 2, 3, 6, 7, 29, None]),
        "hour": st.sampled_from([0, 6, 23.5]),
    }
)
ACTS = st.one_of(
    PAYMENTS,
    PAYMENTS,
    st.sampled_from(["keep", "keep one", "rebuild", "keep in New York", "sweep"]),
)


def act(what: Any) -> None:
    """Write a payment, or keep days."""
    if isinstance(what, dict):
        fields = {name: what[name] for name in ("reference", "status", "domain", "currency")}
        paid_at = None if what["day"] is None else on(what["day"], what["hour"])
        record(**fields, amount=what["amount"], paid_at=paid_at)
    elif what == "keep in New York":
        with override_settings(TIME_ZONE="America/New_York"):
            keep_days()
            assert is_right()
    else:
        options: dict[str, Any] = {
            "keep one": {"most": 1},
            "rebuild": {"rebuild": True},
            "sweep": {"most": kept_days.SOME},
        }
        keep_days(**options.get(what, {}))


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(ACTS, min_size=2, max_size=12))
def test_after_any_history_the_totals_are_the_sums_of_the_payments(history: list[Any]) -> None:
    for model in (KeptDay, LateChange, Transaction):
        model.objects.all().delete()
    for what in history:
        act(what)
        assert is_right()
    assert compare_days() == []
    keep_days()
    assert standing() == KEPT
    assert is_right()
