"""A run of the torture is good only if enough happened; a control only if its own wrong came of it."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.torture.findings import Findings
from tests.reliability.torture.run import Options
from tests.reliability.torture.verdicts import MUST, control_faults, faults, too_quiet

HOUR = Options(
    folder=Path(),
    seconds=3600,
    database="postgresql",
    handler="atomic",
    control=None,
    door="path",
    delivery="inline",
    workers=6,
    threads=2,
    rate=15,
    seed=1,
)
BUSY = {"accepted": 900, "cut_off": 30, "early": 40, "kills": 100, "database_kills": 5}


def quiet(options: Options = HOUR, **counts: int) -> str:
    happened = {**BUSY, **counts}
    found = Findings(**{name: happened[name] for name in ("accepted", "cut_off", "early")})
    return too_quiet(
        options, found, kills=happened["kills"], database_kills=happened["database_kills"]
    )


def test_a_run_in_which_all_of_it_happened_is_not_too_quiet() -> None:
    assert quiet() == ""


@pytest.mark.parametrize("name", BUSY)
def test_a_run_in_which_something_never_happened_is_too_quiet(name: str) -> None:
    assert quiet(**{name: 0}) == f"too quiet: 0 in {name.replace('_', ' ')}"


def test_all_that_did_not_happen_is_named() -> None:
    assert quiet(accepted=0, kills=0) == "too quiet: 0 in accepted, kills"


def test_sqlite_has_no_server_to_kill() -> None:
    assert quiet(dataclasses.replace(HOUR, database="sqlite"), database_kills=0) == ""


@pytest.mark.parametrize(
    ("seconds", "way", "asked"),
    [
        (59, {}, False),
        (60, {}, True),
        (599, {"handler": "external"}, False),
        (599, {"door": "http"}, False),
        (599, {"delivery": "queued"}, False),
        (600, {"handler": "external", "door": "http", "delivery": "queued"}, True),
    ],
)
def test_a_short_run_may_cut_no_delivery_off(
    seconds: float, way: dict[str, Any], asked: bool
) -> None:
    options = dataclasses.replace(HOUR, seconds=seconds, **way)
    assert bool(quiet(options, cut_off=0)) is asked


@pytest.mark.parametrize(("seconds", "asked"), [(59, False), (60, True)])
def test_a_short_run_may_have_no_notice_that_verify_is_behind(seconds: float, asked: bool) -> None:
    assert bool(quiet(dataclasses.replace(HOUR, seconds=seconds), early=0)) is asked


LOST = Findings(lost={"TORTURE-1": "wanted, and nothing was given"})
DOUBLED = Findings(doubled={"TORTURE-1": "given 2 times"})


@pytest.mark.parametrize(("control", "must"), MUST.items())
def test_a_control_must_do_its_own_wrong(control: str, must: str) -> None:
    right, other = (LOST, DOUBLED) if must == "lost" else (DOUBLED, LOST)
    assert control_faults(control, right) == ""
    assert control_faults(control, other) == f"{control} must have {must} something, and has not"
    assert control_faults(control, Findings()) != ""


def test_marking_first_and_older_looks_lose_and_the_other_wrong_ways_double() -> None:
    losing = {control for control, must in MUST.items() if must == "lost"}
    assert losing == {"mark-first", "older-look"}
    assert set(MUST.values()) == {"lost", "doubled"}


def test_each_kind_of_fault_is_named() -> None:
    assert faults(Findings()) == []
    found = Findings(broken=["TORTURE-2: attempts fell"])
    found.lost |= LOST.lost
    found.doubled |= DOUBLED.doubled
    for _time in range(2):
        found.count_error("ValueError", "no such thing")
    assert faults(found) == [
        "lost: TORTURE-1: wanted, and nothing was given",
        "doubled: TORTURE-1: given 2 times",
        "broken: TORTURE-2: attempts fell",
        "error that came out of the path: ValueError, 2 times, first: no such thing",
    ]


def test_only_the_first_of_many_faults_are_printed() -> None:
    lines = faults(Findings(broken=[str(number) for number in range(12)]))
    assert lines[-1] == "broken: and 2 more"
    assert len(lines) == 11
