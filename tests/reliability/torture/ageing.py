"""Make references old before the run begins: their payers came hours or days ago, and left."""

from collections.abc import Iterable
from uuid import UUID

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.reliability.torture.pace import hurry
from tests.reliability.torture.plan import AGES, Payment

__all__ = ["grow_old"]


def grow_old(payments: Iterable[Payment], sandbox: Sandbox, token: str) -> None:
    """Let the payers of the old ones look, the oldest first, and let time go by with sweeps."""
    hurry()
    old = [made for made in payments if made.age]
    ages = sorted(AGES, reverse=True)
    for age, next_age in zip(ages, [*ages[1:], 0], strict=True):
        for made in old:
            if age and made.age == age:
                if not made.is_hidden:
                    sandbox.pay("tea-box", reference=made.reference, **made.fields)
                confirm_payment(made.reference, door=Door.CALLBACK, page_token=UUID(token))
        let_time_pass(age - next_age)
        sweep_due()
