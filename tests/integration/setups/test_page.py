"""`docs/setups.md` has the rows that are tested, and names the steps that they all take."""

import inspect
from collections import Counter

from tests.integration.setups.page import PAGE, written
from tests.integration.setups.rows import SETUPS
from tests.integration.setups.story import STEPS


def test_the_table_is_written_from_the_rows() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "run: python -m tests.integration.setups --write"
    assert page.count("\n| ") == len(SETUPS) + 1


def test_each_row_is_one_set_up_and_says_what_holds() -> None:
    assert set(Counter(row.name for row in SETUPS).values()) == {1}
    assert all(row.special.endswith(".") and row.holds.endswith(".") for row in SETUPS)


def test_what_a_row_leaves_out_is_a_step() -> None:
    steps = {step.__name__ for step in STEPS}
    left_out = {name for row in SETUPS for name in row.without} - {"verifications"}
    assert left_out <= steps
    assert all(inspect.getdoc(step) for step in STEPS)
