"""The digest tells staff what needs attention, once for each state of things."""

import dataclasses
import datetime as dt
import io
import itertools
import re
from email import message_from_bytes
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone, translation

from payments_pages.confirmation import forget_binding, sweep_due
from payments_pages.models import Digest, Fulfilment, Transaction, Verification
from payments_pages.references import text_key
from payments_pages.sandbox import Sandbox
from payments_pages.staff import Attention, read_attention, reject, reopen
from payments_pages.staff.attention import KEYS_CAP
from payments_pages.staff.digest import DIGEST_LEASE
from tests.support.mails import LOCMEM, use_backend
from tests.unit.admin.payments import NOOR, paid

pytestmark = pytest.mark.django_db(transaction=True)

STAFF = ["owner@shop.example", "Till <till@shop.example>"]
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def notify(configure: Any) -> None:
    configure(NOTIFY=STAFF)


def digest(*arguments: str, **options: Any) -> str:
    """Run the command; return what it printed."""
    out = io.StringIO()
    call_command("payments_pages_digest", *arguments, stdout=out, **options)
    return out.getvalue()


def told() -> str:
    """The text of the one mail that was sent since the last call."""
    (message,) = mail.outbox
    mail.outbox.clear()
    return str(message.body)


def delivery(state: str, **fields: Any) -> Transaction:
    """A payment whose delivery has that state."""
    row = paid(status=fields.pop("status", "success"))
    Fulfilment.objects.create(
        transaction=row, reference_key=row.reference_key, state=state, **fields
    )
    return Transaction.objects.select_related("fulfilment").get(pk=row.pk)


def held(reason: str = "amount_mismatch") -> Transaction:
    return delivery("held", reason=reason)


def asked(state: str = "due", *, mode: str = "test", **fields: Any) -> Verification:
    reference = f"A-{next(_numbers)}"
    values = {"next_at": timezone.now(), "vouched": True, "first_door": "webhook", **fields}
    key = text_key(mode, reference)
    return Verification.objects.create(
        reference=reference, reference_key=key, mode=mode, state=state, **values
    )


class RefusingBackend(EmailBackend):
    """A mail server that does not answer."""

    def send_messages(self, messages: Any) -> int:
        raise ConnectionRefusedError("owner@shop.example")


class SilentBackend(EmailBackend):
    """A mail server that takes nothing and does not say so."""

    def send_messages(self, messages: Any) -> int:
        return 0


class SecondRunBackend(EmailBackend):
    """A slow mail server: while it takes the mail, cron starts the command again."""

    def send_messages(self, messages: Any) -> int:
        assert digest(verbosity=2) == "Another run is telling it.\n"
        return super().send_messages(messages)


class SleepingBackend(EmailBackend):
    """A mail server that is so slow that another run has told it meanwhile."""

    def send_messages(self, messages: Any) -> int:
        Digest.objects.update(attempts=7, told={"held": ["later"]})
        return 1


# Once for each state of things


def test_nothing_needs_attention_and_nothing_is_sent() -> None:
    delivery("delivered")
    assert digest() == ""
    assert mail.outbox == []
    assert digest("--print") == "Nothing needs attention.\n"


def test_what_is_held_is_told_once() -> None:
    held()
    assert digest() == ""
    (message,) = mail.outbox
    assert message.to == STAFF
    assert message.subject == "Payments need attention – testserver"
    sent = message_from_bytes(message.message().as_bytes())
    assert (sent["Auto-Submitted"], sent.get_content_type()) == ("auto-generated", "text/plain")
    assert told() == (
        "Payments held, waiting for a decision: 1\n"
        "https://testserver/admin/payments_pages/transaction/?held=decision\n\n"
        "This message comes once. The next one comes when there is something new.\n"
    )
    assert digest() == ""
    assert digest(verbosity=2) == "Nothing new needs attention.\n"
    assert mail.outbox == []


def test_something_new_is_told_with_all_that_still_needs_attention() -> None:
    held()
    digest()
    mail.outbox.clear()
    held()
    asked("unknown", said_paid=True)
    digest()
    text = told()
    assert "Payments held, waiting for a decision: 2 (new: 1)\n" in text
    assert "References that the service does not know: 1\n" in text


def test_one_solved_and_another_come_make_news_although_the_count_is_the_same() -> None:
    first = held()
    digest()
    mail.outbox.clear()
    reject(first, actor="nadia")
    held()
    digest()
    assert "waiting for a decision: 1\n" in told()


def test_what_was_solved_makes_no_news_and_is_told_again_when_it_comes_again() -> None:
    row = held()
    digest()
    mail.outbox.clear()
    reject(row, actor="nadia")
    digest()
    assert mail.outbox == []
    reopen(Transaction.objects.select_related("fulfilment").get(pk=row.pk), actor="nadia")
    digest()
    assert "waiting for a decision: 1\n" in told()


def test_more_than_a_mail_counts_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments_pages.staff.attention.KEYS_CAP", 2)
    for name in ("staff.digest", "management.digest_mail"):
        monkeypatch.setattr(f"payments_pages.{name}.KEYS_CAP", 2)
    assert KEYS_CAP == 1000
    rows = [held() for _number in range(3)]
    digest()
    assert "waiting for a decision: 2+\n" in told()
    held()
    digest()
    reject(rows.pop(), actor="nadia")
    digest()
    reject(rows.pop(0), actor="nadia")
    held()
    digest()
    assert mail.outbox == []
    left = Transaction.objects.select_related("fulfilment").filter(fulfilment__state="held")
    for row in left[:2]:
        reject(row, actor="nadia")
    digest()
    assert "waiting for a decision: 1\n" in told()


def test_a_sweep_that_does_not_run_is_told_once_and_again_when_it_stops_again() -> None:
    row = asked(vouched=False, next_at=timezone.now() - dt.timedelta(hours=3, minutes=5))
    digest()
    text = told()
    assert "waited for 3\u00a0hours, 5\u00a0minutes: is the sweep running?\n" in text
    assert "https://testserver/admin/payments_pages/verification/?state__exact=due\n" in text
    digest()
    assert mail.outbox == []
    Verification.objects.update(next_at=timezone.now() + dt.timedelta(hours=1))
    digest()
    Verification.objects.update(next_at=row.next_at)
    digest()
    assert "is the sweep running?" in told()


def test_a_refused_key_and_a_missing_setting_are_told(configure: Any) -> None:
    asked(
        last_error="AuthenticationFailed: 401",
        asked_at=timezone.now(),
        next_at=timezone.now() + dt.timedelta(hours=1),
    )
    configure(HANDLER=None)
    digest()
    text = told()
    assert "A setting is missing or wrong:\nPAYMENTS_PAGES['HANDLER'] is missing" in text
    assert "The service refuses our key: no payment can be confirmed.\n" in text
    digest()
    assert mail.outbox == []


# Two runs, and runs that fail


def test_of_two_runs_at_the_same_moment_one_sends(settings: Any) -> None:
    use_backend(settings, f"{__name__}.SecondRunBackend")
    held()
    digest()
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("name", ["RefusingBackend", "SilentBackend"])
def test_a_mail_that_cannot_be_sent_is_tried_again_by_the_next_run(
    settings: Any, name: str
) -> None:
    held()
    use_backend(settings, f"{__name__}.{name}")
    with pytest.raises(CommandError, match="The mail could not be sent") as raised:
        digest()
    assert "@" not in str(raised.value)
    use_backend(settings, LOCMEM)
    digest()
    assert "waiting for a decision: 1\n" in told()
    digest()
    assert mail.outbox == []


def test_after_a_run_that_died_another_tells_when_its_lease_has_ended() -> None:
    held()
    digest()
    mail.outbox.clear()
    now = timezone.now()
    Digest.objects.update(told={}, claimed_until=now + dt.timedelta(seconds=DIGEST_LEASE))
    digest()
    assert mail.outbox == []
    Digest.objects.update(claimed_until=now - dt.timedelta(seconds=1))
    digest()
    assert "waiting for a decision: 1\n" in told()


def test_a_run_that_slept_past_its_lease_does_not_write_over_a_later_one(settings: Any) -> None:
    held()
    use_backend(settings, f"{__name__}.SleepingBackend")
    digest()
    row = Digest.objects.get()
    assert (row.attempts, row.told) == (7, {"held": ["later"]})


def test_a_database_that_cannot_be_read_is_an_error_and_nothing_is_written() -> None:
    held()
    digest()
    mail.outbox.clear()
    before = Digest.objects.get().told

    def fail(execute: Any, sql: str, *arguments: Any) -> Any:
        if "fulfilment" in sql:
            raise OperationalError("no such table, noor.haddad@example.com")
        return execute(sql, *arguments)

    with connection.execute_wrapper(fail), pytest.raises(CommandError) as raised:
        digest()
    assert str(raised.value) == "The database could not be used: OperationalError."
    row = Digest.objects.get()
    assert (row.told, row.claimed_until) == (before, None)


def test_a_copy_of_the_tables_on_another_site_tells_and_writes_nothing(
    sandbox: Sandbox, configure: Any
) -> None:
    sweep_due()
    held()
    configure(SITE_URL="https://staging.example.com")
    forget_binding()
    for arguments in ((), ("--print",)):
        with pytest.raises(CommandError, match="These tables belong to https://testserver"):
            digest(*arguments)
    assert mail.outbox == []
    assert not Digest.objects.exists()


# What is printed


def test_print_tells_all_and_neither_reads_nor_changes_what_was_told() -> None:
    held()
    first = digest("--print")
    assert "waiting for a decision: 1\n" in first
    digest()
    mail.outbox.clear()
    assert digest("--print") == first
    digest()
    assert mail.outbox == []


@pytest.mark.parametrize("addresses", [None, [], ()])
def test_without_addresses_news_are_printed_once(configure: Any, addresses: Any) -> None:
    configure(NOTIFY=addresses)
    held()
    assert "waiting for a decision: 1\n" in digest()
    assert digest() == ""
    assert mail.outbox == []


# What it says


def everything() -> None:
    """A row of every kind that is counted."""
    now = timezone.now()
    ago, later = now - dt.timedelta(days=31), now + dt.timedelta(hours=1)
    held()
    held("attempts_spent")
    delivery("delivered", money_back_at=now, money_back_unseen=True)
    delivery("failed", next_at=later)
    delivery("delivering", next_at=now - dt.timedelta(seconds=30))
    asked("verifying", next_at=now - dt.timedelta(seconds=30))
    asked("unknown", said_paid=True)
    asked(named_at=ago, last_error="InvalidResponse: x", next_at=later)
    asked("lapsed", named_at=now)
    asked(signed_success_at=ago, next_at=later)
    asked(last_error=f"{Verification.NOT_RECORDED}: x", next_at=later)
    open_one = asked(named_at=ago, next_at=later)
    paid(reference=open_one.reference, status="pending")
    asked(mode="live")
    other = asked("settled", mode="live")
    row = paid(reference=other.reference, reference_key=other.reference_key)
    Fulfilment.objects.create(
        transaction=row, reference_key=row.reference_key, state="pending", next_at=now
    )


def test_every_count_of_attention_has_a_line_with_the_link_of_needs_attention(
    client: Client,
) -> None:
    everything()
    counts = {
        field.name: getattr(read_attention(), field.name)
        for field in dataclasses.fields(Attention)
        if field.type in ("int", int)
    }
    assert set(counts.values()) == {1}
    digest()
    lines = re.findall(r"^.+: 1\nhttps://testserver(\S+)\n$", told(), re.MULTILINE)
    assert len(lines) == len(counts)
    client.force_login(User.objects.create_superuser("staff"))
    shown = client.get("/admin/payments_pages/").context["lines"]
    assert sorted(lines) == sorted(line.url for line in shown if line.kind == "attention")


def test_a_mail_says_nothing_of_payers_and_names_no_payment() -> None:
    everything()
    digest()
    (message,) = mail.outbox
    text = f"{message.subject}\n{message.body}"
    secrets = [*NOOR.values(), *Transaction.objects.values_list("reference", flat=True)]
    assert not [secret for secret in secrets if secret in text]


def test_without_a_site_url_there_are_no_links(configure: Any, settings: Any) -> None:
    configure(SITE_URL=None)
    held()
    digest()
    assert mail.outbox[0].subject == "Payments need attention"
    assert told().startswith("Payments held, waiting for a decision: 1\n\nThis message")


@pytest.mark.urls("tests.integration.setups.project.urls_no_admin")
def test_without_the_admin_there_are_no_links() -> None:
    held()
    digest()
    assert "http" not in told()


@pytest.mark.parametrize(
    ("language", "words"),
    [("ar", "دفعات معلّقة تنتظر قرارًا"), ("he", "תשלומים בהמתנה שדרושה לגביהם החלטה")],
)
def test_it_is_written_in_the_language_of_the_site(
    settings: Any, language: str, words: str
) -> None:
    settings.LANGUAGE_CODE = language
    held()
    with translation.override("en"):
        digest()
    (message,) = mail.outbox
    assert f"{words}: 1\nhttps://testserver/" in message.body
    letters = re.sub(r"https?://\S+|testserver", "", f"{message.subject}\n{message.body}")
    assert not re.search("[A-Za-z]", letters)
