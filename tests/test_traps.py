"""What every payment integration falls into on some database, one test each (C23, C24)."""

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db import transaction as db_transaction
from django.db.transaction import TransactionManagementError
from django.db.utils import IntegrityError

import payments_pages
from payments_pages import delivery, recording, verification
from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, confirm_payment_on_commit
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.references import reference_key
from payments_pages.resources import TransactionResource
from payments_pages.sandbox import Sandbox
from payments_pages.sweeping import sweep_due
from tests.conftest import expect_payment, in_thread, let_time_pass, meanwhile
from tests.crash.points import Points
from tests.doors.signing import HEADER, SECRET, event, post
from tests.goods.models import Good

at_once = pytest.mark.django_db(transaction=True)
PACKAGE = Path(payments_pages.__file__).parent
NO_GUARDS = re.compile(r"ignore_conflicts|select_for_update|update_or_create|\.get_or_create\(")
"""INSERT IGNORE truncates and hides faults on MariaDB; FOR UPDATE is nothing at all on SQLite;
the others read first, and then know what is no longer so."""


@contextmanager
def repeatable_reads() -> Iterator[None]:
    """See, within a transaction, only what was committed before it: on MariaDB and PostgreSQL."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ"
            )
        elif connection.vendor == "mysql":
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    try:
        yield
    finally:
        connection.close()


def test_none_of_the_false_guards_is_used() -> None:
    found = [
        f"{path.name}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "roles.py"  # groups of staff: no payment hangs on them
        for line in path.read_text(encoding="utf-8").splitlines()
        if NO_GUARDS.search(line)
    ]
    assert found == []


@pytest.mark.django_db
def test_an_error_spoils_a_transaction_unless_a_savepoint_holds_it(tea_box: PaymentPage) -> None:
    """On every database: why a rival's row is met with a savepoint around our own."""
    row = {"name": "b", "slug": "b", "slug_key": tea_box.slug_key}
    with db_transaction.atomic():
        with pytest.raises(IntegrityError), db_transaction.atomic():
            PaymentPage.objects.create(**row)
        assert PaymentPage.objects.count() == 1

    def without_a_savepoint() -> None:
        with db_transaction.atomic():
            with pytest.raises(IntegrityError):
                PaymentPage(**row).save(force_insert=True)
            PaymentPage.objects.count()

    with pytest.raises(TransactionManagementError):
        without_a_savepoint()


@at_once
def test_a_fenced_off_answer_touches_one_row_and_inserts_nothing(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Two that both insert are a deadlock on MariaDB: only the winner of the fence inserts."""
    reference = sandbox.pay("tea-box")
    key = reference_key(reference)
    row, held = verification.receive(
        reference, key, door=Door.WEBHOOK, page_claim=None, vouched=True
    )
    assert held is not None
    Verification.objects.update(attempts=2)
    resource = TransactionResource.from_payload(sandbox.transaction(reference) or {})
    points = Points()
    with points.watch():
        late = recording.record(
            held, resource, key=key, existing=None, page_claim=None, door=Door.WEBHOOK
        )
    assert late is None
    assert [point for point in points.seen if not point.startswith(("BEGIN", "COMMIT"))] == [
        "UPDATE payments_pages_verification"
    ]
    assert not Transaction.objects.exists()
    assert row.pk == held.pk


@at_once
def test_what_guards_refuses_to_be_part_of_somebody_elses_transaction(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    """Durable: what was told as delivered is not undone by a rollback around it."""
    configure(HANDLER="tests.crash.handlers.decline")
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    configure(HANDLER="tests.goods.handlers.give")
    row = Fulfilment.objects.select_related("transaction").get()
    Fulfilment.objects.update(state="delivering")
    with db_transaction.atomic():
        assert delivery.deliver(row, door=Door.SWEEP) is not Outcome.DELIVERED
    assert not Good.objects.exists()
    let_time_pass(7200)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


@at_once
def test_a_hook_that_fails_before_ours_loses_nothing(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Django skips the hooks after one that raises: the note in the transaction remains."""
    expect_payment("PPG-8")
    sandbox.pay("tea-box", reference="PPG-8")

    def fail() -> None:
        raise OSError("the mail server is down")

    def order() -> None:
        with db_transaction.atomic():
            db_transaction.on_commit(fail)
            confirm_payment_on_commit("PPG-8")

    with pytest.raises(OSError, match="mail server"):
        order()
    assert not Good.objects.exists()
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


@at_once
def test_c23_a_rivals_row_that_our_snapshot_hides_is_no_error(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """T1 reads, T2 inserts and commits, T1 inserts: the duplicate is there and cannot be seen."""
    expect_payment("PPG-1024")
    sandbox.pay("tea-box", reference="PPG-1024")
    if connection.vendor == "sqlite":
        pytest.skip("one writer at a time: T2 cannot commit while T1's transaction is open")
    with repeatable_reads():
        with db_transaction.atomic():
            assert not Verification.objects.exists()
            theirs = in_thread(lambda: confirm_payment("PPG-1024", door=Door.WEBHOOK)).result()
            confirm_payment_on_commit("PPG-1024")
        assert theirs.outcome is Outcome.DELIVERED
        mine = confirm_payment("PPG-1024", door=Door.CALLBACK, page_token=tea_box.token)
    assert mine.outcome is Outcome.ALREADY_DELIVERED
    assert Good.objects.count() == Fulfilment.objects.count() == 1


@at_once
def test_c23_under_repeatable_read_a_rival_before_our_insert_is_believed(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1024")

    def rival() -> Outcome:
        return confirm_payment("PPG-1024", door=Door.CALLBACK, page_token=tea_box.token).outcome

    with (
        repeatable_reads(),
        meanwhile("INSERT INTO payments_pages_verification", rival) as theirs,
    ):
        mine = confirm_payment("PPG-1024", door=Door.CALLBACK, page_token=tea_box.token)
    assert theirs == [Outcome.DELIVERED]
    assert mine.outcome is Outcome.ALREADY_DELIVERED
    assert Good.objects.count() == 1


@at_once
def test_c24_a_burst_of_webhooks_is_answered_200_or_503_and_delivered_once_each(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(
        HANDLER="tests.goods.handlers.slow",
        WEBHOOK_HEADER=HEADER,
        WEBHOOK_ALGORITHM="sha256",
        WEBHOOK_SECRETS=(SECRET,),
        MAX_CALLS=8,  # the case is about the database, not about the load on the service
    )
    references = [f"PPG-24-{number}" for number in range(8)]
    for reference in references:
        expect_payment(reference)
        sandbox.pay("tea-box", reference=reference)
    start = threading.Barrier(len(references))

    def send(reference: str) -> list[int]:
        start.wait()
        statuses: list[int] = []
        while len(statuses) < 4 and (not statuses or statuses[-1] != 200):
            statuses.append(post(event(reference)).status_code)
            time.sleep(0.1)
        return statuses

    sending = [in_thread(lambda name=reference: send(name)) for reference in references]
    answers = Counter(status for rival in sending for status in rival.result(timeout=120))
    assert set(answers) <= {200, 503}
    if os.environ.get("TESTS_ISOLATION") == "serializable":
        # There eight at once undo each other again and again: what the webhooks left open is due.
        let_time_pass(3600)
        sweep_due()
    else:
        assert answers[200] == len(references)
    goods = Counter(Good.objects.values_list("reference", flat=True))
    assert goods == dict.fromkeys(references, 1)
    assert Fulfilment.objects.filter(state="delivered").count() == len(references)
