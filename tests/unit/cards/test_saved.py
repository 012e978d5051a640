"""Which cards are saved, for whom, and when not."""

import logging
import os
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from payments_pages import testing
from payments_pages.card_codes import CODE_LENGTH
from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import UnusableCardKeys
from payments_pages.models import Fulfilment, PaymentPage, SavedCard, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import meanwhile
from tests.support.goods import owners
from tests.support.goods.models import Good
from tests.unit.cards.conftest import CODE, NOOR, OWNERS, Pay, card, new_key

pytestmark = pytest.mark.django_db(transaction=True)


KEEPING = ("SELECT auth_user.id FROM", "SELECT auth_user.id AS pk FROM")
"""How the statement begins that keeps the owner from being deleted."""


def not_saved(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The records that say why a card was not saved."""
    return [one.message for one in caplog.records if one.message.startswith("card.not_saved")]


def delivered(reference: str) -> bool:
    state = Fulfilment.objects.get(transaction__reference=reference).state
    return state == FulfilmentState.DELIVERED and Good.objects.filter(reference=reference).exists()


# What is saved


def test_the_card_of_a_payment_is_saved_for_its_owner(noor: User, pay: Pay) -> None:
    reference = pay()
    saved = SavedCard.objects.get()
    assert (saved.owner, saved.first_payment.reference) == (noor, reference)
    assert (saved.brand, saved.last4, saved.expiry, saved.domain) == (
        "visa",
        "4081",
        "12/2030",
        "test",
    )
    assert saved.paid_at == Transaction.objects.get().paid_at
    assert saved.authorization_code() == CODE
    assert str(saved) == "visa •••• 4081"
    assert CODE not in saved.encrypted_code
    assert delivered(reference)


def test_without_the_setting_nothing_is_saved_and_nobody_is_asked(
    noor: User, pay: Pay, configure: Any
) -> None:
    configure(SAVE_CARD=None)
    pay()
    assert (SavedCard.objects.count(), owners.CALLS) == (0, [])


def test_without_an_owner_nothing_is_saved(pay: Pay, caplog: pytest.LogCaptureFixture) -> None:
    reference = pay(email="stranger@example.test")
    assert [reference] == owners.CALLS
    assert not SavedCard.objects.exists()
    assert not_saved(caplog) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"reusable": False}, {"reusable": None}, {"reusable": "true"}, {"reusable": 1},
        {"channel": "Card"}, {"channel": "CARD"}, {"channel": "card "}, {"channel": "bank"},
        {"channel": None}, {"channel": ["card"]},
        {"authorization_code": None}, {"authorization_code": ""}, {"authorization_code": 12345678},
        {"authorization_code": "AUTH_بطاقة"}, {"authorization_code": "AUTH_a\nb"},
        {"authorization_code": "A" * (CODE_LENGTH + 1)},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_reusable_card_is_not_saved(
    noor: User, sandbox: Sandbox, tea_box: PaymentPage, fields: dict[str, Any]
) -> None:
    visit = testing.pay(sandbox, tea_box, email=NOOR, authorization={**card(), **fields})
    assert owners.CALLS == []
    assert not SavedCard.objects.exists()
    assert delivered(visit.reference)


@pytest.mark.parametrize(
    "authorization", ["", None, [], "card", {"authorization": card()}], ids=repr
)
def test_an_authorization_of_another_shape_is_not_saved(
    noor: User, sandbox: Sandbox, tea_box: PaymentPage, authorization: Any
) -> None:
    visit = testing.pay(sandbox, tea_box, email=NOOR, authorization=authorization)
    assert not SavedCard.objects.exists()
    assert delivered(visit.reference)


def test_the_longest_code_is_saved_whole(noor: User, pay: Pay) -> None:
    code = "AUTH_" + "9" * (CODE_LENGTH - 5)
    pay(code=code)
    assert SavedCard.objects.get().authorization_code() == code


@pytest.mark.parametrize("status", ["failed", "abandoned", "reversed", "pending"])
def test_only_a_success_is_saved(noor: User, pay: Pay, status: str) -> None:
    pay(status=status)
    assert not SavedCard.objects.exists()


def test_a_payment_of_the_other_mode_is_not_saved(
    noor: User, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    testing.pay(sandbox, tea_box, email=NOOR, authorization=card(), domain="live")
    assert not SavedCard.objects.exists()


def test_the_same_card_in_the_other_mode_is_another_one(
    noor: User, pay: Pay, sandbox: Sandbox, configure: Any
) -> None:
    pay()
    configure(MODE="live", SECRET_KEY="sk_live_suite")
    sandbox.set_account(secret_key="sk_live_suite")
    sandbox.pay("tea-box", reference="LIVE-1", email=NOOR, authorization=card("AUTH_LIVE0001"))
    confirm_payment("LIVE-1", door=Door.CODE)
    assert sorted(SavedCard.objects.values_list("domain", flat=True)) == ["live", "test"]


def test_a_payment_that_is_held_brings_its_card_all_the_same(
    noor: User, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    """It is a success: the card is good, whatever it was to pay for."""
    testing.pay(sandbox, tea_box, email=NOOR, authorization=card(), amount=1)
    assert Fulfilment.objects.get().state == FulfilmentState.HELD
    assert SavedCard.objects.count() == 1


def test_a_payment_that_succeeds_later_brings_its_card_then(
    noor: User, sandbox: Sandbox, pay: Pay
) -> None:
    reference = pay(status="pending")
    assert not SavedCard.objects.exists()
    sandbox.set_transaction(reference, status="success")
    let_time_pass(60)
    confirm_payment(reference, door=Door.SWEEP)
    assert SavedCard.objects.get().first_payment.reference == reference


@pytest.mark.parametrize(
    "changes",
    [{}, {"HANDLER_ATOMIC": False}, {"DELIVERY": "queued", "NUDGE": "tests.unit.cards.test_saved.nudge"}],
    ids=["at once", "external handler", "queued"],
)  # fmt: skip
def test_it_is_saved_however_the_value_is_delivered(
    noor: User, pay: Pay, configure: Any, changes: dict[str, Any]
) -> None:
    configure(**changes)
    pay()
    assert SavedCard.objects.get().authorization_code() == CODE


def nudge(reference: str) -> None:
    """Send it nowhere: the sweep would take it."""


def test_it_is_saved_also_if_the_handler_fails(noor: User, pay: Pay, configure: Any) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = pay()
    assert Fulfilment.objects.get().state == FulfilmentState.FAILED
    assert SavedCard.objects.get().first_payment.reference == reference


# Once, and the newest


def test_a_newer_payment_replaces_code_and_expiry(noor: User, pay: Pay) -> None:
    first = pay()
    pay(code="AUTH_LEAKCODE2", exp_month="3", exp_year="2034", last4="4082", brand="Visa")
    saved = SavedCard.objects.get()
    assert saved.authorization_code() == "AUTH_LEAKCODE2"
    assert (saved.expiry, saved.last4, saved.brand) == ("03/2034", "4082", "Visa")
    assert saved.first_payment.reference == first


def test_a_payment_that_was_paid_earlier_does_not_replace_a_newer_code(
    noor: User, pay: Pay
) -> None:
    """The callback was lost, and the sweep finds it after the next purchase."""
    pay(code="AUTH_LEAKCODE2", paid_at="2026-11-20T10:00:00.000Z")
    pay(code="AUTH_LEAKCODE1", paid_at="2026-11-19T10:00:00.000Z")
    assert SavedCard.objects.get().authorization_code() == "AUTH_LEAKCODE2"
    pay(code="AUTH_LEAKCODE3", paid_at=None)
    assert SavedCard.objects.get().authorization_code() == "AUTH_LEAKCODE3"


def test_another_card_is_another_row_and_so_is_another_owners(noor: User, pay: Pay) -> None:
    User.objects.create_user("omar@example.test")
    pay()
    pay(code="AUTH_LEAKCODE2", signature="sig_ONE")
    pay(code="AUTH_LEAKCODE3", signature="SIG_one ")
    pay(code="AUTH_LEAKCODE4", email="omar@example.test")
    cards = SavedCard.objects.order_by("pk")
    assert [one.authorization_code()[-1] for one in cards] == ["1", "2", "3", "4"]
    assert [one.owner.username[0] for one in cards] == ["n", "n", "n", "o"]


def test_asking_again_about_a_payment_does_not_bring_a_forgotten_card_back(
    noor: User, pay: Pay
) -> None:
    reference = pay()
    SavedCard.objects.all().delete()
    let_time_pass(60)
    confirm_payment(reference, door=Door.ADMIN, refresh=True, vouched=True)
    assert not SavedCard.objects.exists()


def test_of_two_payments_with_a_new_card_at_once_both_are_delivered_and_one_card_is_saved(
    noor: User, sandbox: Sandbox, tea_box: PaymentPage, caplog: pytest.LogCaptureFixture
) -> None:
    """The rival commits its card after our look, and before we keep the owner for our INSERT."""
    if connection.vendor == "sqlite":
        pytest.skip("a transaction that writes has the whole database to itself")
    for reference, code in (("A-1", CODE), ("A-2", "AUTH_LEAKCODE2")):
        sandbox.pay("tea-box", reference=reference, email=NOOR, authorization=card(code))

    def confirm(reference: str) -> Outcome:
        return confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token).outcome

    with meanwhile(KEEPING, lambda: confirm("A-2")) as rivals:
        assert confirm("A-1") is Outcome.DELIVERED
    assert rivals == [Outcome.DELIVERED]
    if not os.environ.get("TESTS_ISOLATION"):  # a snapshot does not show the rival's card
        assert not_saved(caplog) == []
    assert SavedCard.objects.count() == 1
    assert Good.objects.count() == 2


# What goes wrong harms no payment


@pytest.mark.parametrize(
    "owner",
    [
        "raising", "breaking_a_rule", "with_a_wrong_statement", "swallowing_an_error", "a_name",
        "nobody_signed_in", "unsaved", "deleted", "without_argument", "nothing_of_this_name",
    ],
)  # fmt: skip
def test_a_function_that_fails_harms_no_payment(
    noor: User, pay: Pay, configure: Any, caplog: pytest.LogCaptureFixture, owner: str
) -> None:
    if owner == "deleted" and connection.vendor == "sqlite":
        pytest.skip("SQLite has no lock of a row, by which it is noticed")
    configure(SAVE_CARD=f"{OWNERS}.{owner}")
    with caplog.at_level(logging.ERROR, logger="payments_pages"):
        reference = pay()
    assert delivered(reference)
    assert not SavedCard.objects.exists()
    (told,) = not_saved(caplog)
    assert told.startswith(f"card.not_saved: {reference}: ")
    assert NOOR not in told
    assert not User.objects.filter(username="twin").exists()


def test_a_coroutine_function_saves_nothing(
    noor: User, pay: Pay, configure: Any, caplog: pytest.LogCaptureFixture
) -> None:
    configure(SAVE_CARD=f"{OWNERS}.later")
    assert delivered(pay())
    assert len(not_saved(caplog)) == 1


def test_a_function_that_rolls_back_saves_nothing(noor: User, pay: Pay, configure: Any) -> None:
    configure(SAVE_CARD=f"{OWNERS}.rolling_back")
    assert delivered(pay())
    assert not SavedCard.objects.exists()


def test_the_function_may_make_the_owner(pay: Pay, configure: Any) -> None:
    configure(SAVE_CARD=f"{OWNERS}.made")
    pay()
    assert SavedCard.objects.get().owner.username == NOOR


WRONG_KEYS: list[tuple[Any, str]] = [
    (None, "CARD_KEYS is missing"),
    ([], "CARD_KEYS is missing"),
    (["  "], "CARD_KEYS is missing"),
    (["LEAKME"], "Key 1 of CARD_KEYS is malformed"),
    ([Fernet.generate_key().decode(), "LEAKME" * 8], "Key 2 of CARD_KEYS is malformed"),
    (["מפתח LEAKME"], "Key 1 of CARD_KEYS is malformed"),
    ([b"LEAKME"], "CARD_KEYS cannot be read"),
    (7, "CARD_KEYS cannot be read"),
    (lambda: {}["LEAKME"], "CARD_KEYS cannot be read"),
]


@pytest.mark.parametrize(("keys", "why"), WRONG_KEYS, ids=[why for _keys, why in WRONG_KEYS])
def test_wrong_keys_harm_no_payment_and_are_told(
    noor: User, pay: Pay, configure: Any, caplog: pytest.LogCaptureFixture, keys: Any, why: str
) -> None:
    configure(CARD_KEYS=keys)
    reference = pay()
    assert delivered(reference)
    assert not SavedCard.objects.exists()
    (told,) = not_saved(caplog)
    assert why in told
    assert "LEAKME" not in caplog.text


def test_a_lost_key_is_told_to_who_reads_the_card(noor: User, pay: Pay, configure: Any) -> None:
    pay()
    configure(CARD_KEYS=[new_key()])
    with pytest.raises(UnusableCardKeys, match="was removed") as caught:
        SavedCard.objects.get().authorization_code()
    assert caught.value.__cause__ is None
    assert delivered(pay(code="AUTH_LEAKCODE2"))
    assert SavedCard.objects.get().authorization_code() == "AUTH_LEAKCODE2", "a new one is read"


def test_keys_may_come_from_a_vault(noor: User, pay: Pay, configure: Any) -> None:
    keys = [new_key()]
    configure(CARD_KEYS=lambda: keys)
    pay()
    keys.insert(0, new_key())
    assert SavedCard.objects.get().authorization_code() == CODE
    configure(CARD_KEYS=keys[1])
    assert SavedCard.objects.get().authorization_code() == CODE


def test_without_the_extra_no_payment_is_harmed_and_it_is_told(
    noor: User, pay: Pay, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.fernet", None)
    assert delivered(pay())
    (told,) = not_saved(caplog)
    assert "pip install payments-pages[cards]" in told


@pytest.mark.parametrize("signature", [None, "", "  ", 7])
def test_without_a_signature_nothing_is_saved(
    noor: User, sandbox: Sandbox, tea_box: PaymentPage, caplog: Any, signature: Any
) -> None:
    paid = testing.pay(
        sandbox, tea_box, email=NOOR, authorization={**card(), "signature": signature}
    )
    assert delivered(paid.reference)
    assert not SavedCard.objects.exists()
    assert len(not_saved(caplog)) == 1


@pytest.mark.parametrize(
    ("month", "year", "shown"),
    [("1", "2031", "01/2031"), (3, 2031, "03/2031"), ("", "2031", ""), ("1x", "20311", ""), ("١", "2031", "")],
)  # fmt: skip
def test_an_expiry_is_digits_or_nothing(
    noor: User, pay: Pay, month: Any, year: Any, shown: str
) -> None:
    pay(exp_month=month, exp_year=year)
    assert SavedCard.objects.get().expiry == shown


def test_a_brand_of_any_length_is_saved(noor: User, pay: Pay) -> None:
    pay(brand="בנק " * 60)
    assert len(SavedCard.objects.get().brand) <= 64


# Speed


def test_on_a_site_that_saves_no_cards_it_costs_no_statement(
    noor: User, sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(SAVE_CARD=None)
    plain = {**card(), "reusable": False}
    counts = []
    for number, fields in enumerate((plain, plain, card())):  # the first compiles statements
        sandbox.pay("tea-box", reference=f"A-{number}", email=NOOR, authorization=fields)
        with CaptureQueriesContext(connection) as queries:
            confirm_payment(f"A-{number}", door=Door.CALLBACK, page_token=tea_box.token)
        counts.append(len(queries))
    assert counts[1] == counts[2]


# With the handler


def test_the_function_is_asked_after_a_handler_that_runs_in_the_same_transaction(
    noor: User, pay: Pay, configure: Any
) -> None:
    """So nobody waits for a handler because of a card."""
    configure(SAVE_CARD=f"{OWNERS}.who_was_given")
    pay()
    at_once = "mysql" not in connection.settings_dict["ENGINE"]
    assert SavedCard.objects.exists() is at_once


def test_the_checks_find_nothing_wrong_with_such_a_site(settings: Any) -> None:
    call_command("check")
