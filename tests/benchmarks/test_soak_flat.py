"""The soak tells a figure that grows from one that stays level."""

import pytest

from tests.benchmarks.soak.sampling import FIGURES, Sample, flat


def samples(values: list[int], figure: str = "memory") -> list[Sample]:
    level = dict.fromkeys(FIGURES, 100)
    return [
        Sample(at=10.0 * number, **{**level, figure: value}) for number, value in enumerate(values)
    ]


LEVEL = [100] * 20
RISING = [100 + number for number in range(20)]
WARM_UP = [10, 40, 70, 90] + [100] * 16
STEP = [100] * 10 + [120] * 10
SPIKE = [*LEVEL[:18], 900, 100]
FALLING = list(reversed(RISING))


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("values", [LEVEL, WARM_UP, SPIKE, FALLING])
def test_what_is_level_after_the_warm_up_is_flat(values: list[int], figure: str) -> None:
    """One sample that is high is a moment, not a leak: the middle value counts."""
    assert flat(samples(values, figure), figure, growth=0.05, slack=0)


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("values", [RISING, STEP])
def test_what_rises_is_not_flat(values: list[int], figure: str) -> None:
    assert not flat(samples(values, figure), figure, growth=0.05, slack=0)


def test_only_the_figure_that_is_asked_for_is_looked_at() -> None:
    grown = samples(RISING, "sockets")
    assert [name for name in FIGURES if not flat(grown, name, growth=0.05, slack=0)] == ["sockets"]


def test_growth_is_a_share_and_slack_a_count_and_the_edge_is_still_flat() -> None:
    grown = samples([100] * 10 + [105] * 10)
    assert flat(grown, "memory", growth=0.05, slack=0)
    assert not flat(grown, "memory", growth=0.04, slack=0)
    assert flat(grown, "memory", growth=0.0, slack=5)
    assert not flat(grown, "memory", growth=0.0, slack=4)


@pytest.mark.parametrize("count", range(1, 12))
def test_a_short_run_has_fifths_too_and_three_samples_are_enough(count: int) -> None:
    assert flat(samples([100] * count), "memory", growth=0.0, slack=0)
    rising = samples([100 * 2**number for number in range(count)])
    assert flat(rising, "memory", growth=0.05, slack=0) is (count < 3)
