"""Keys are changed while payments go on, and nothing is lost if it is stopped in the middle."""

from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from payments_pages.exceptions import UnusableCardKeys
from payments_pages.models import SavedCard
from payments_pages.staff import rekey_cards
from tests.conftest import meanwhile
from tests.unit.cards.conftest import Pay, new_key

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = new_key(), new_key()
CODES = [f"AUTH_LEAKCODE{number}" for number in range(5)]


def rekey() -> str:
    out = StringIO()
    call_command("payments_pages_rekey", stdout=out)
    return out.getvalue().strip()


def under(key: str) -> int:
    """How many cards this key reads by itself."""
    found = 0
    for text in SavedCard.objects.values_list("encrypted_code", flat=True):
        try:
            Fernet(key).decrypt(text.encode())
        except Exception:  # noqa: BLE001 - another key's
            continue
        found += 1
    return found


@pytest.fixture
def five(noor: User, pay: Pay, configure: Any) -> None:
    """Five cards under the old key; the settings have the new one before it."""
    configure(CARD_KEYS=[OLD])
    for number, code in enumerate(CODES):
        pay(code=code, signature=f"SIG_{number}")
    configure(CARD_KEYS=[NEW, OLD])


def codes() -> list[str]:
    return [card.authorization_code() for card in SavedCard.objects.order_by("pk")]


def test_all_codes_are_turned_over_and_the_old_key_is_needed_no_more(
    five: None, configure: Any
) -> None:
    assert codes() == CODES
    assert rekey() == "Encrypted the codes of 5 cards by the newest key."
    assert (under(NEW), under(OLD)) == (5, 0)
    configure(CARD_KEYS=[NEW])
    assert codes() == CODES
    assert rekey() == "Encrypted the codes of 0 cards by the newest key."


def test_a_run_that_dies_in_the_middle_is_finished_by_the_next(five: None) -> None:
    class KilledError(Exception):
        pass

    seen: list[str] = []

    def die_at_third(execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("UPDATE"):
            seen.append(sql)
            if len(seen) == 3:
                raise KilledError
        return execute(sql, *arguments)

    with pytest.raises(KilledError), connection.execute_wrapper(die_at_third):
        rekey_cards(progress=lambda done: None)
    assert (under(NEW), under(OLD)) == (2, 3)
    assert codes() == CODES
    assert rekey() == "Encrypted the codes of 3 cards by the newest key."
    assert codes() == CODES


def test_a_code_that_a_payment_brings_meanwhile_is_not_overwritten(five: None, pay: Pay) -> None:
    def pay_with_first() -> None:
        pay(code="AUTH_LEAKCODE9", signature="SIG_0")

    if connection.vendor == "sqlite":
        # There a statement begins when nobody else writes: let the payment come before it.
        seen: list[int] = []

        def before(execute: Any, sql: str, *arguments: Any) -> Any:
            if sql.startswith("UPDATE") and "encrypted_code" in sql and not seen:
                seen.append(1)
                pay_with_first()
            return execute(sql, *arguments)

        with connection.execute_wrapper(before):
            result = rekey_cards(progress=lambda done: None)
    else:
        with meanwhile("UPDATE payments_pages_savedcard", pay_with_first):
            result = rekey_cards(progress=lambda done: None)
    assert result.changed == 4
    assert codes() == ["AUTH_LEAKCODE9", *CODES[1:]]
    assert under(NEW) == 5


def test_a_process_with_the_old_key_alone_saves_meanwhile_and_the_next_run_finds_it(
    five: None, pay: Pay, configure: Any
) -> None:
    rekey()
    configure(CARD_KEYS=[OLD, NEW])
    pay(code="AUTH_LEAKCODE8", signature="SIG_8")
    configure(CARD_KEYS=[NEW, OLD])
    assert under(OLD) == 1
    assert rekey() == "Encrypted the codes of 1 card by the newest key."


def test_cards_that_no_key_reads_are_named_and_the_others_are_changed(
    five: None, noor: User, pay: Pay, configure: Any
) -> None:
    configure(CARD_KEYS=[new_key()])
    pay(code="AUTH_LEAKCODE7", signature="SIG_7")
    configure(CARD_KEYS=[NEW, OLD])
    lost = SavedCard.objects.latest("pk").pk
    with pytest.raises(CommandError, match=rf"1 card \(id {lost}\)"):
        rekey()
    assert under(NEW) == 5


def test_keys_that_are_wrong_change_nothing(five: None, configure: Any) -> None:
    before = list(SavedCard.objects.order_by("pk").values_list("encrypted_code", flat=True))
    for keys in (None, ["LEAKME"], [NEW, "LEAKME"]):
        configure(CARD_KEYS=keys)
        with pytest.raises(UnusableCardKeys):
            rekey_cards(progress=lambda done: None)
        with pytest.raises(CommandError, match="CARD_KEYS"):
            rekey()
    assert before == list(SavedCard.objects.order_by("pk").values_list("encrypted_code", flat=True))


def test_any_number_of_batches_and_their_progress(five: None) -> None:
    seen: list[int] = []
    assert rekey_cards(batch=2, progress=seen.append).changed == 5
    assert seen == [2, 4, 5]


def test_progress_is_shown_on_a_terminal_only(five: None) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    call_command("payments_pages_rekey", stdout=out)
    assert "5 cards …" in out.getvalue()
