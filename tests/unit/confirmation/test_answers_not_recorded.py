"""If an answer cannot be recorded, the payment is not lost, and staff see it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import post_save, pre_save
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Outcome, VerificationState
from payments_pages.confirmation import sweep_due
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

PAYER = "payer@example.com"


def come_back(page: PaymentPage, reference: str) -> Any:
    url = reverse("payments_pages:page-callback", args=[page.token])
    return Client().get(url, {"reference": reference}, follow=True)


def complain(sender: object, **sent: Any) -> None:
    """Raise an error as an audit app of the merchant's may, with a payer's data in its text."""
    raise RuntimeError(f"no audit line for {PAYER}")


def ask_a_table_that_is_missing(sender: object, **sent: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM audit_lines")


@pytest.fixture(params=[complain, ask_a_table_that_is_missing], ids=lambda f: f.__name__)
def receiver(request: pytest.FixtureRequest) -> Callable[..., None]:
    return request.param


@pytest.fixture(params=[(pre_save, Transaction), (post_save, Transaction), (post_save, Fulfilment)])
def audited(request: pytest.FixtureRequest, receiver: Callable[..., None]) -> Iterator[None]:
    signal, sender = request.param
    signal.connect(receiver, sender=sender)
    yield
    signal.disconnect(receiver, sender=sender)


def test_a_lasting_error_has_a_reason_a_backoff_and_an_end(
    tea_box: PaymentPage,
    sandbox: Sandbox,
    audited: None,
    receiver: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    reference = sandbox.pay("tea-box", customer={"email": PAYER})
    answer = come_back(tea_box, reference)
    assert answer.status_code == 200
    assert "We cannot confirm your payment right now" in answer.content.decode()
    for number in range(3):
        row = Verification.objects.get()
        assert (row.state, row.attempts) == (VerificationState.DUE, number + 1)
        assert row.last_error.startswith("Not recorded: ")
        assert PAYER not in row.last_error
        let_time_pass(9 * 3600)
        assert sweep_due().outcomes == {Outcome.UNAVAILABLE: 1}
    for model in (Transaction, Fulfilment, Event, Good):
        assert not model.objects.exists(), model
    records = [record for record in caplog.records if "unrecorded" in record.getMessage()]
    assert len(records) == 4
    assert PAYER not in caplog.text
    for signal, sender in (
        (pre_save, Transaction),
        (post_save, Transaction),
        (post_save, Fulfilment),
    ):
        signal.disconnect(receiver, sender=sender)
    let_time_pass(9 * 3600)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Verification.objects.get().last_error == ""
    assert Good.objects.count() == 1


@pytest.fixture
def ascii_messages(db: None) -> Iterator[None]:
    """Let the database refuse letters that are not ASCII, as some character sets do."""
    statements = {
        "mysql": (
            "ALTER TABLE payments_pages_transaction MODIFY message LONGTEXT CHARACTER SET ascii NOT NULL",
            "ALTER TABLE payments_pages_transaction MODIFY message LONGTEXT CHARACTER SET utf8mb4 NOT NULL",
        ),
        "postgresql": (
            """
            CREATE FUNCTION pp_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF octet_length(NEW.message) > length(NEW.message) THEN
                    RAISE EXCEPTION 'no equivalent' USING ERRCODE = 'untranslatable_character';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER pp_refuse BEFORE INSERT OR UPDATE ON payments_pages_transaction
                FOR EACH ROW EXECUTE FUNCTION pp_refuse()
            """,
            """
            DROP TRIGGER pp_refuse ON payments_pages_transaction;
            DROP FUNCTION pp_refuse()
            """,
        ),
    }
    if connection.vendor not in statements:
        pytest.skip("SQLite knows Unicode alone.")
    before, after = statements[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(before)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM payments_pages_event")
        cursor.execute(after)


def test_a_text_that_the_database_refuses_loses_no_payment(
    tea_box: PaymentPage, sandbox: Sandbox, ascii_messages: None
) -> None:
    reference = sandbox.pay("tea-box", message="تمت الموافقة 🍵", metadata={"name": "ليلى"})
    answer = come_back(tea_box, reference)
    assert answer.status_code == 200
    assert Good.objects.get().reference == reference
    stored = Transaction.objects.get()
    assert stored.message == "??? ???????? ?"
    assert stored.unreadable["message"].encode().decode("unicode_escape") == "تمت الموافقة 🍵"
    assert (stored.status, stored.amount) == ("success", 10000)
