"""The checker of the torture can say no: each rule, on a history with that one fault."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent.parent
PLACES = (
    "ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "DISABLE_SERVER_SIDE_CURSORS",
)  # fmt: skip
PAID, LESS, LEFT, UNDONE, OPEN = (f"TORTURE-{number}" for number in (0, 1, 3, 4, 5))

GREEN = (
    "nothing_is_spoilt",
    "nothing_is_spoilt_outside",
    "given_again_under_the_same_key",
    "long_work_loses_its_lease",
    "a_late_attempt_is_fenced_off",
    "a_success_is_reversed",
    "the_database_is_away_in_a_sweep",
    "a_door_answers_503",
    "a_notice_is_sent_until_it_is_answered",
)
IN_TIME = (
    "a_notice_is_asked_about_in_time",
    "a_notice_of_an_old_reference_is_asked_about_in_time",
)
LOST: Mapping[str, tuple[str, str]] = {
    "accepted_and_left_open": (OPEN, "wanted, and it is failed"),
    "never_heard_of": ("TORTURE-9", "wanted, and it is unknown"),
    "marked_and_not_given": (UNDONE, "marked, and nothing was given"),
    "marked_and_not_given_outside": (PAID, "marked, and nothing was given"),
    "a_notice_is_asked_about_hours_later": (
        OPEN,
        "named by a signed notice, and due after two sweeps",
    ),
    "a_notice_is_forgotten": (
        "TORTURE-9",
        "named by a signed notice, and forgotten after two sweeps",
    ),
    "told_as_delivered_and_not_given": (LEFT, "told as delivered, and nothing was given"),
}
DOUBLED: Mapping[str, tuple[str, str]] = {
    "given_twice": (PAID, "given 2 times"),
    "given_under_two_keys": (PAID, "given under 2 keys"),
}
BROKEN: Mapping[str, tuple[str, ...]] = {
    "given_under_a_foreign_key": (f"{PAID}: given under a foreign key",),
    "a_mismatch_is_delivered": (f"{LESS}: a mismatch was delivered",),
    "delivered_and_never_accepted": (f"{PAID}: delivered, and never accepted",),
    "given_and_never_paid": ("TORTURE-9: given, and never paid",),
    "attempts_fall": (f"{LESS}: attempts fell: fulfilment",),
    "attempts_to_ask_fall": (f"{PAID}: attempts fell: verification",),
    "it_leaves_delivered_for_a_moment": (f"{PAID}: it left delivered",),
    "it_is_marked_twice": (f"{PAID}: delivered once more",),
    "a_success_fails_later": (f"{PAID}: a success was taken back",),
    "a_fulfilment_is_deleted_and_comes_again": (
        f"{PAID}: it was deleted: fulfilment",
        f"{PAID}: it came again: fulfilment",
    ),
    "what_a_notice_named_is_given_up": (f"{LEFT}: named by a signed notice, and lapsed",),
    "what_a_notice_named_rests_as_unknown": (f"{LEFT}: named by a signed notice, and unknown",),
    "a_verification_is_deleted": (f"{PAID}: it was deleted: verification",),
    "a_transaction_is_deleted": (f"{LEFT}: it was deleted: transaction",),
}
ERRORS: Mapping[str, str] = {
    "an_error_comes_out": "ValueError",
    "the_database_is_away_in_the_path": "OperationalError",
    "a_sweep_meets_a_fault": "ProgrammingError",
    "a_row_raises_in_a_sweep": "SweptRow",
    "a_door_answers_500": "Status500",
}
UNGUARDED = ("a_late_attempt_meets_no_guard", "rivals_meet_no_guard")
SEVERAL = (
    "a_notice_is_answered_from_the_older_look",
    "given_and_not_marked",
    "a_row_is_replaced",
    "a_fulfilment_is_born_delivered",
)
"""Stories that break more than one rule at once, or not the same ones on every database."""

Found = dict[str, Any]

# The stories are told once, in one process of pytest-xdist's.
pytestmark = pytest.mark.xdist_group("histories")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """The results of all stories, run once in a process with the torture's settings and database."""
    folder = tmp_path_factory.mktemp("histories")
    place = {
        key: connection.settings_dict[key] for key in PLACES if key in connection.settings_dict
    }
    place["TEST"] = {"NAME": f"test_histories_{os.getpid()}"}
    if connection.vendor == "sqlite":
        place |= {"OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20}}
        place["TEST"] = {"NAME": str(folder / "histories.sqlite3")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.histories", str(folder), json.dumps(place)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Found] = json.loads(done.stdout)
    return found


def wrong_in(found: Found) -> dict[str, Any]:
    """Return the findings that should be empty and are not."""
    return {key: found[key] for key in ("lost", "doubled", "broken", "errors") if found[key]}


def test_every_story_is_judged(told: dict[str, Found]) -> None:
    assert set(told) == {
        *GREEN, *IN_TIME, *LOST, *DOUBLED, *BROKEN, *ERRORS, *UNGUARDED, *SEVERAL, "long_work_renews_its_lease",
    }  # fmt: skip


@pytest.mark.parametrize("name", GREEN)
def test_a_good_history_is_green(told: dict[str, Found], name: str) -> None:
    found = told[name]
    assert wrong_in(found) == {}
    assert found["delivered"] == 3
    assert found["accepted"] == 3
    assert found["repeated"] == (1 if name == "given_again_under_the_same_key" else 0)


@pytest.mark.parametrize("name", IN_TIME)
def test_a_notice_that_is_asked_about_within_two_sweeps_is_no_fault(
    told: dict[str, Found], name: str
) -> None:
    """The path itself: verify said "abandoned" when the notice came."""
    found = told[name]
    assert wrong_in(found) == {}
    assert found["delivered"] == 4
    assert (found["signed"], found["early"]) == (1, 1)


def test_a_notice_that_is_answered_from_the_older_look_is_found(told: dict[str, Found]) -> None:
    assert wrong_in(told["a_notice_is_answered_from_the_older_look"]) == {
        "lost": {OPEN: "named by a signed notice, and lapsed after two sweeps"},
        "broken": [f"{OPEN}: named by a signed notice, and lapsed"],
    }


def test_long_work_that_renews_its_lease_is_no_fault(told: dict[str, Found]) -> None:
    found = told["long_work_renews_its_lease"]
    assert wrong_in(found) == {}
    assert found["delivered"] == 4
    # Twice long, beside the one renewal that each external delivery begins with.
    assert found["renewals"] - told["nothing_is_spoilt_outside"]["renewals"] == 1 + 2 * 6


@pytest.mark.parametrize("name", UNGUARDED)
def test_the_path_without_its_guards_is_found(told: dict[str, Found], name: str) -> None:
    wrong = wrong_in(told[name])
    assert wrong["doubled"] == {PAID: "given 2 times"}
    assert set(wrong) == {"doubled", "broken"}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost_is_found(told: dict[str, Found], name: str) -> None:
    assert wrong_in(told[name]) == {"lost": dict([LOST[name]])}


@pytest.mark.parametrize("name", DOUBLED)
def test_what_is_doubled_is_found(told: dict[str, Found], name: str) -> None:
    assert wrong_in(told[name]) == {"doubled": dict([DOUBLED[name]])}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found(told: dict[str, Found], name: str) -> None:
    wrong = wrong_in(told[name])
    assert list(wrong) == ["broken"]
    assert len(wrong["broken"]) == len(BROKEN[name])
    for line, begin in zip(wrong["broken"], BROKEN[name], strict=True):
        assert line.startswith(begin)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_that_came_out_is_found(told: dict[str, Found], name: str) -> None:
    assert wrong_in(told[name]) == {"errors": {ERRORS[name]: 1}}


def test_what_is_given_outside_and_never_marked_is_found(told: dict[str, Found]) -> None:
    assert wrong_in(told["given_and_not_marked"]) == {
        "lost": {OPEN: "wanted, and it is failed"},
        "broken": [f"{OPEN}: given, and yet failed"],
    }


def test_a_row_that_is_replaced_in_one_statement_is_found(told: dict[str, Found]) -> None:
    wrong = wrong_in(told["a_row_is_replaced"])
    assert list(wrong) == ["broken"]
    # SQLite fires no trigger for the row that has to make room.
    assert [line.split(": ")[1] for line in wrong["broken"]] == (
        ["it came again"] if connection.vendor == "sqlite" else ["it was deleted", "it came again"]
    )


def test_a_fulfilment_born_delivered_is_found(told: dict[str, Found]) -> None:
    wrong = wrong_in(told["a_fulfilment_is_born_delivered"])
    assert wrong["lost"] == {LEFT: "marked, and nothing was given"}
    assert len(wrong["broken"]) == 1
    assert wrong["broken"][0].startswith(f"{LEFT}: born delivered")
