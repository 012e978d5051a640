"""README.md is short, and what it names is there; `test_quick_start.py` does its quick start."""

import re

from payments_pages.choices import Door, Outcome
from tests.support.snippets import ROOT, page_text

README = page_text("README.md")


def test_each_make_command_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))
    assert named == {"demo", "test", "test-all"}
    assert named <= targets


def test_it_is_read_in_a_few_minutes() -> None:
    assert len(README.split()) <= 1500


def test_it_has_a_picture_that_says_what_it_shows() -> None:
    (alt, path) = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", README)[0]
    assert len(alt) > 20
    assert (ROOT / path).is_file()


def test_its_sections_are_those_that_other_pages_point_to() -> None:
    headings = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert headings == ["Try it", "Quick start", "The path", "What is promised", "More"]


def test_the_picture_of_the_path_has_the_doors_and_the_outcomes() -> None:
    """Each in a word of its own; what is left out says nothing else to a reader."""
    (picture,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    first, *_steps, last = picture.strip().splitlines()
    doors = set(
        first.strip().replace("the sweep", "sweep").replace("commands", "command").split(" · ")
    )
    assert doors == {*Door.values} - {Door.CODE, Door.EXPECTED, Door.WORKER}
    told = {word.strip().replace(" ", "_") for word in last.split("·")}
    told = {"unavailable" if word == "cannot_be_confirmed_right_now" else word for word in told}
    passing = {"delivering", "delivery_failed", "rejected", "pending"}
    assert told == {*Outcome.values} - passing
