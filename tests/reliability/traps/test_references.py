"""Traps 1 and 2: references that a database folds together, or cuts off (case C52)."""

from typing import Any

import pytest

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.exceptions import InvalidReference
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

FOLDED = ("abc-1", "ABC-1", "abc-1 ", "ábc-1", "abc-1\u200b")
"""One text to MariaDB's and MySQL's default collations; the last is a space of no width."""


def confirm(reference: str, page: PaymentPage) -> Confirmation:
    return confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)


def delivered() -> list[str]:
    return sorted(Good.objects.values_list("reference", flat=True))


def test_trap_1_case_makes_two_payments_and_an_accent_or_a_space_makes_none(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    for reference in FOLDED[:2]:
        sandbox.pay("tea-box", reference=reference)
        assert confirm(reference, tea_box).outcome is Outcome.DELIVERED
    for reference in FOLDED[2:]:
        with pytest.raises(InvalidReference):
            confirm(reference, tea_box)
    assert sandbox.verify_calls() == Verification.objects.count() == 2
    assert delivered() == sorted(FOLDED[:2])


def test_trap_1_where_the_pattern_lets_them_in_each_is_a_payment_of_its_own(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(REFERENCE_PATTERN=r".{1,128}")
    for number, reference in enumerate(FOLDED, start=1):
        sandbox.pay("tea-box", reference=reference)
        found = confirm(reference, tea_box)
        assert found.outcome is Outcome.DELIVERED, ascii(reference)
        assert found.transaction is not None
        assert found.transaction.reference == reference
        assert Good.objects.count() == number
    assert delivered() == sorted(FOLDED)


def test_trap_2_references_of_104_characters_that_differ_at_the_end_are_two_rows(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """INSERT IGNORE would have cut both to the column's width, and made one of them."""
    long = [f"{'r' * 103}{end}" for end in "12"]
    for reference in long:
        sandbox.pay("tea-box", reference=reference)
        assert confirm(reference, tea_box).outcome is Outcome.DELIVERED
    assert delivered() == long
    for model in (Verification, Transaction):
        assert sorted(model.objects.values_list("reference", flat=True)) == long
    assert Fulfilment.objects.count() == 2
