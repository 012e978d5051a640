"""If a trusted caller names a reference, earlier answers of the service do not count (W1).

The service's signed `charge.success` comes by the webhook; verify may be late behind its own
message, and an older look may be under way.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction as db_transaction
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, Outcome, VerificationState
from payments_pages.confirmation import (
    confirm_payment,
    confirm_payment_on_commit,
    rivals,
    sweep_due,
)
from payments_pages.confirmation.due import forget_unknown
from payments_pages.models import PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.door_behaviour import at_once
from tests.support.goods.models import Good
from tests.support.payer_pages import HEADINGS, Document, come
from tests.support.scale import chosen
from tests.support.service_answers import (
    DAY,
    HOUR,
    MINUTE,
    REFERENCE,
    answer,
    days,
    during_a_look,
    is_on_record,
    notice,
    pass_minutes,
    sweeps_until_given,
)
from tests.support.webhook_signing import HEADER, SECRET, said

pytestmark = pytest.mark.django_db(transaction=True)

UNCONFIRMED = ("pending", "failed", "abandoned", "404", "500")
"""What verify may answer although the service has sent a signed success."""
AGES = (0, 3 * HOUR, 80 * HOUR)

unconfirmed = pytest.mark.parametrize("older", UNCONFIRMED)
few_unconfirmed = pytest.mark.parametrize("older", chosen(UNCONFIRMED, "failed", "404"))
ages = pytest.mark.parametrize("age", AGES)


@pytest.fixture(autouse=True)
def page(tea_box: PaymentPage, configure: Any) -> PaymentPage:
    """The page that is paid on; the webhook is configured."""
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))
    return tea_box


def look(page: PaymentPage) -> Outcome:
    """Come back by the page's callback, as a payer does."""
    return confirm_payment(
        REFERENCE, door=Door.CALLBACK, page_token=page.token, client_ip="192.0.2.7"
    ).outcome


def seen_before(sandbox: Sandbox, page: PaymentPage, *, status: str, age: float) -> None:
    """Let a payer come back the given time ago, and run the sweep until now."""
    answer(sandbox, status)
    look(page)
    if age:
        for _sweep in days(age / DAY):
            pass


# While an older call to the service is under way, or just after it


@pytest.mark.slow
@pytest.mark.parametrize("patient", [True, False], ids=["it waits", "it cannot wait so long"])
@pytest.mark.parametrize("who", ["payer", "popup", "sweep", "staff", "earlier notice"])
@few_unconfirmed
def test_a_notice_is_not_answered_from_a_look_that_is_under_way(
    page: PaymentPage,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    older: str,
    who: str,
    patient: bool,
) -> None:
    """The answer to the first caller is older than the payment, and comes after the notice."""
    if not patient:
        monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 0.0)
    looks: dict[str, Callable[[], Any]] = {
        "payer": lambda: look(page),
        "popup": lambda: confirm_payment(REFERENCE, door=Door.CONFIRM, client_ip="192.0.2.7"),
        "sweep": sweep_due,
        "staff": lambda: confirm_payment(
            REFERENCE, door=Door.ADMIN, vouched=True, refresh=True, actor="Rana"
        ),
        "earlier notice": notice,
    }
    if who == "sweep":
        answer(sandbox, older)
        look(page)
        let_time_pass(MINUTE)
    told = during_a_look(sandbox, older, looks[who], notice)
    if told.status_code == 200:
        assert said(told)["outcome"] in {"delivered", "already_delivered"}
        assert Good.objects.count() == 1
    else:
        assert told.status_code == 503
        assert is_on_record()
        let_time_pass(10)
        sweep_due()
    assert Good.objects.count() == 1, "asked again after the notice, in seconds"


@pytest.mark.parametrize("second", ["notice", "sweep"])
@unconfirmed
def test_a_notice_just_after_a_look_is_not_answered_from_it(
    page: PaymentPage, sandbox: Sandbox, older: str, second: str
) -> None:
    """Within two seconds, for a reference that a payer has just asked about."""
    answer(sandbox, older)
    look(page)
    answer(sandbox, "success")
    told = notice()
    if told.status_code == 200:
        assert said(told)["outcome"] == "delivered"
        assert Good.objects.count() == 1
    else:
        assert told.status_code == 503
        let_time_pass(10)
        notice() if second == "notice" else sweep_due()
    assert Good.objects.count() == 1


@ages
@unconfirmed
def test_a_notice_just_after_the_look_of_an_old_reference_is_not_answered_from_it(
    page: PaymentPage, sandbox: Sandbox, older: str, age: float
) -> None:
    seen_before(sandbox, page, status=older, age=age)
    let_time_pass(10)
    look(page)
    answer(sandbox, "success")
    told = notice()
    assert told.status_code in {200, 503}
    if told.status_code == 503:
        assert sweeps_until_given(limit=2)
    assert Good.objects.count() == 1


@unconfirmed
def test_notices_at_once_after_a_look_give_once(
    page: PaymentPage, sandbox: Sandbox, older: str
) -> None:
    answer(sandbox, older)
    look(page)
    answer(sandbox, "success")
    assert {told.status_code for told in at_once([notice] * 4)} <= {200, 503}
    if not Good.objects.exists():
        sweeps_until_given(limit=1)
    assert Good.objects.count() == 1


# Verify still gives the old status after the notice


@pytest.mark.slow
@pytest.mark.parametrize("lag", chosen([0, 40, 110, 5 * MINUTE, 3 * HOUR], 0, 110, 3 * HOUR))
@ages
@few_unconfirmed
def test_verify_may_be_late_behind_its_own_notice(
    page: PaymentPage, sandbox: Sandbox, older: str, age: float, lag: float
) -> None:
    """After one notice: two sweeps after verify confirms the success, it is delivered, at any age."""
    seen_before(sandbox, page, status=older, age=age)
    let_time_pass(10)
    told = notice()
    assert told.status_code == 503, "it must be sent again"
    assert int(told.headers["Retry-After"]) > 0
    pass_minutes(lag)
    assert is_on_record()
    assert not Good.objects.exists()
    answer(sandbox, "success")
    assert sweeps_until_given(limit=2) <= 2
    assert said(notice())["outcome"] == "already_delivered"
    assert Good.objects.count() == 1


@pytest.mark.slow
def test_verify_may_be_late_behind_the_notice_of_a_reference_two_weeks_old(
    page: PaymentPage, sandbox: Sandbox
) -> None:
    seen_before(sandbox, page, status="abandoned", age=15 * DAY)
    assert notice().status_code == 503
    pass_minutes(5 * MINUTE)
    answer(sandbox, "success")
    sweeps_until_given(limit=2)


@unconfirmed
def test_verify_may_be_late_behind_a_notice_that_came_first_of_all(
    sandbox: Sandbox, older: str
) -> None:
    answer(sandbox, older)
    assert notice().status_code == 503
    pass_minutes(90)
    answer(sandbox, "success")
    sweeps_until_given(limit=2)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0, 1, 30, HOUR])
@few_unconfirmed
def test_a_second_notice_is_asked_about_too(
    page: PaymentPage, sandbox: Sandbox, older: str, gap: float
) -> None:
    """The service repeats a notice that was answered with 503; verify confirms it by then."""
    seen_before(sandbox, page, status=older, age=80 * HOUR)
    assert notice().status_code == 503
    let_time_pass(gap)
    answer(sandbox, "success")
    told = notice()
    if told.status_code == 503:
        sweeps_until_given(limit=2)
    else:
        assert said(told)["outcome"] in {"delivered", "already_delivered"}
    assert Good.objects.count() == 1


@pytest.mark.parametrize("given_up", [VerificationState.LAPSED, VerificationState.UNKNOWN])
@pytest.mark.parametrize("lag", [0, 50, 20 * MINUTE])
def test_a_notice_revives_what_was_given_up(
    page: PaymentPage, sandbox: Sandbox, given_up: str, lag: float
) -> None:
    seen = {VerificationState.LAPSED: ("failed", 80 * HOUR), VerificationState.UNKNOWN: ("404", 10)}
    status, age = seen[VerificationState(given_up)]
    answer(sandbox, status)
    look(page)
    let_time_pass(age)
    sweep_due()
    assert Verification.objects.get().state == given_up
    assert notice().status_code == 503
    pass_minutes(lag)
    assert is_on_record()
    answer(sandbox, "success")
    sweeps_until_given(limit=2)


@pytest.mark.slow
@few_unconfirmed
def test_what_a_notice_named_is_never_given_up_or_forgotten(
    page: PaymentPage, sandbox: Sandbox, older: str
) -> None:
    """Verify contradicts the notice for twenty days; each repeat of it is answered with 503."""
    seen_before(sandbox, page, status=older, age=HOUR)
    notice()
    for number, _sweep in enumerate(days(20)):
        assert is_on_record(), f"given up at sweep {number}"
        assert forget_unknown() == 0
        call_command("payments_pages_purge", "--lapsed-older-than=30d", stdout=StringIO())
        if number % 20 == 10:
            assert notice().status_code == 503
    answer(sandbox, "success")
    let_time_pass(100 * MINUTE)  # a contradiction more than a day old is asked about every hour
    sweeps_until_given(limit=2)


def test_what_was_reversed_since_its_notice_is_no_contradiction(
    page: PaymentPage, sandbox: Sandbox
) -> None:
    """A notice of success that comes late: the payment has been reversed since."""
    answer(sandbox, "reversed")
    look(page)
    let_time_pass(10)
    assert notice().status_code == 200
    assert not Good.objects.exists()


# What the payer is told


@pytest.mark.slow
@pytest.mark.parametrize("when", ["at once", "after a minute", "after four days"])
@pytest.mark.parametrize("first", ["payer", "notice"])
@few_unconfirmed
def test_while_the_contradiction_stands_the_payer_is_told_still_processing(
    page: PaymentPage, sandbox: Sandbox, older: str, first: str, when: str
) -> None:
    answer(sandbox, older)
    if first == "payer":
        look(page)
        let_time_pass(10)
    notice()
    if when == "after a minute":
        let_time_pass(MINUTE)
        sweep_due()
    elif when == "after four days":
        for _sweep in days(4):
            pass
    patience = "unavailable" if older == "500" else "processing"
    shown = Document(come(REFERENCE)).inner("h1")
    assert shown in {HEADINGS["processing"], HEADINGS[patience]}
    asked = Client().post(
        reverse("payments_pages:confirm"), {"reference": REFERENCE}, content_type="application/json"
    )
    assert (asked.status_code, said(asked)["outcome"]) in {
        (202, "pending"),
        *({(503, "unavailable")} if older == "500" else ()),
    }
    paid = Transaction.objects.filter(reference=REFERENCE).first()
    if paid is None:
        return
    result = Client().get(reverse("payments_pages:result", args=[paid.token]))
    assert Document(result).inner("h1") == HEADINGS["processing"]
    status = Client().get(reverse("payments_pages:result-status", args=[paid.token]))
    assert said(status) == {"outcome": "pending", "page": "processing"}


@pytest.mark.parametrize("older", ["failed", "abandoned"])
def test_the_result_page_of_a_payment_that_failed_changes_with_the_notice(
    page: PaymentPage, sandbox: Sandbox, older: str
) -> None:
    """The payer reads "failed", pays at the second try, a notice comes, and it is delivered."""
    answer(sandbox, older)
    assert Document(come(REFERENCE)).inner("h1") == HEADINGS["not_paid"]
    result = reverse("payments_pages:result", args=[Transaction.objects.get().token])
    let_time_pass(10)
    notice()
    assert Document(Client().get(result)).inner("h1") == HEADINGS["processing"]
    answer(sandbox, "success")
    sweeps_until_given(limit=2)
    assert Document(Client().get(result)).inner("h1") == HEADINGS["paid"]


# Staff and the merchant's own code


def by_the_admin() -> None:
    """Type the reference into the admin's form."""
    staff = Client()
    user, _created = User.objects.get_or_create(
        username="staff", defaults={"is_staff": True, "is_superuser": True}
    )
    staff.force_login(user)
    address = reverse("admin:payments_pages_transaction_verify_reference")
    told = staff.post(address, {"reference": REFERENCE})
    found = re.search(r'<span class="pp-outcome">([^<]*)</span>', told.content.decode())
    assert found is not None, told.content


def by_the_command() -> None:
    with suppress(CommandError):  # its exit code says "not delivered"
        call_command("payments_pages_confirm", REFERENCE, stdout=StringIO())


def by_own_code() -> None:
    confirm_payment(REFERENCE, vouched=True)


def on_commit() -> None:
    with db_transaction.atomic():
        confirm_payment_on_commit(REFERENCE)


trusted = pytest.mark.parametrize(
    "name_it", [by_the_admin, by_the_command, by_own_code, on_commit], ids=lambda f: f.__name__
)


@trusted
@unconfirmed
def test_a_trusted_word_just_after_a_look_is_not_answered_from_it(
    page: PaymentPage, sandbox: Sandbox, name_it: Callable[[], None], older: str
) -> None:
    answer(sandbox, older)
    look(page)
    answer(sandbox, "success")
    name_it()
    if not Good.objects.exists():
        let_time_pass(10)
        sweep_due()
    assert Good.objects.count() == 1


@trusted
@few_unconfirmed
def test_a_trusted_word_during_a_look_is_not_answered_from_it(
    page: PaymentPage, sandbox: Sandbox, name_it: Callable[[], None], older: str
) -> None:
    during_a_look(sandbox, older, lambda: look(page), name_it)
    if not Good.objects.exists():
        let_time_pass(10)
        sweep_due()
    assert Good.objects.count() == 1


@pytest.mark.slow
@trusted
@pytest.mark.parametrize("age", [3 * HOUR, 80 * HOUR])
@few_unconfirmed
def test_a_trusted_word_starts_the_schedule_anew(
    page: PaymentPage, sandbox: Sandbox, name_it: Callable[[], None], age: float, older: str
) -> None:
    """The service is asked at once, then after seconds and minutes, also if it was given up."""
    seen_before(sandbox, page, status=older, age=age)
    let_time_pass(10)
    name_it()
    row = Verification.objects.get()
    assert (row.state in {"due", "unknown"}, row.vouched) == (True, True)
    answer(sandbox, "success")
    sweeps_until_given(limit=2)


@pytest.mark.slow
@trusted
@pytest.mark.parametrize("older", ["failed", "abandoned", "404"])
def test_a_trusted_word_keeps_a_reference_for_three_days_more(
    page: PaymentPage, sandbox: Sandbox, name_it: Callable[[], None], older: str
) -> None:
    """The three days are counted from when a trusted caller last named it; then it is given up."""
    seen_before(sandbox, page, status=older, age=5 * DAY)
    name_it()
    for _sweep in days(2.75):
        pass
    row = Verification.objects.get()
    assert row.state in {VerificationState.DUE, VerificationState.UNKNOWN}
    for _sweep in days(1.25):
        pass
    row.refresh_from_db()
    assert (row.state, row.next_at) == (VerificationState.LAPSED, None)
