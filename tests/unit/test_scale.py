"""A leg that tries fewer values spreads them, and the long leg leaves none out."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import scale


@pytest.mark.parametrize(
    ("most", "kept"),
    [(1, [0]), (2, [0, 9]), (3, [0, 4, 9]), (9, [0, 1, 2, 3, 4, 6, 7, 8, 9]), (10, [*range(10)])],
)
def test_some_are_taken_from_the_first_to_the_last(most: int, kept: list[int]) -> None:
    assert scale.spread(range(10), most) == kept
    assert scale.spread([], most) == []


def test_the_long_leg_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "LONG", False)
    assert scale.chosen("abc", "c") == ("c",)
    monkeypatch.setattr(scale, "LONG", True)
    assert scale.chosen("abc", "c") == "abc"


def test_a_value_that_the_long_leg_would_not_try_is_refused() -> None:
    with pytest.raises(AssertionError):
        scale.chosen("abc", "d")


def collected(*options: str) -> list[str]:
    arguments = ["-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        [sys.executable, *arguments, __file__],
        check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return sorted(line for line in done.stdout.splitlines() if "::" in line)


@pytest.mark.slow
def test_two_legs_share_the_parameter_sets_whatever_their_order() -> None:
    few = collected("--parameters", "3", "--randomly-seed=1")
    others = collected("--other-parameters", "3", "--randomly-seed=2")
    assert few == collected("--parameters", "3", "--randomly-seed=3")
    assert len(others) == 2, "of the five sets above"
    assert sorted(few + others) == collected()
