"""The benchmark of a hung service shows a difference, and the documentation shows its table."""

import re

import pytest

from tests.benchmarks.hung_service import BEGIN, END, PAGE, VARIANTS, Result, measure, table


def test_a_hung_service_takes_no_other_request_down_and_would_without_protection() -> None:
    protected, bare = measure("all", 2), measure("timeouts", 2)
    assert protected.others == protected.expected == 40
    assert protected.callbacks >= protected.expected - 4
    assert protected.calls <= 4
    assert bare.others < bare.expected / 2


def test_who_is_never_answered_is_said_to_be() -> None:
    result = Result(
        expected=300,
        others=7,
        others_p50=None,
        others_p99=None,
        callbacks=0,
        callbacks_p99=None,
        calls=8,
    )
    assert table({"nothing": result}).splitlines()[-1] == (
        "| without timeouts as well | 7 of 300 | never | never | 0 of 300 | 8 |"
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_the_documentation_shows_the_table(name: str) -> None:
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert re.search(rf"\| {VARIANTS[name].label} \| \d+ of 300 \|", shown)
