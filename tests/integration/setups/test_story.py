"""The story holds on every set-up; see `docs/setups.md`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from payments_pages.sandbox import Sandbox
from tests.integration.setups.postgresql import own_database
from tests.integration.setups.rows import SETUPS
from tests.integration.setups.setup import Setup
from tests.integration.setups.site import Site
from tests.integration.setups.story import STEPS, Story

SERVER = os.environ.get("DATABASE_URL", "")


def _parameter(setup: Setup) -> Any:
    marks = []
    left_out = setup.why_left_out
    if setup.postgresql and not SERVER.startswith("postgres"):
        left_out = "needs a PostgreSQL server in DATABASE_URL"
    if left_out:
        marks.append(pytest.mark.skip(reason=f"{setup.name}: {left_out}"))
    return pytest.param(setup, id=setup.name, marks=marks)


@pytest.fixture(scope="module")
def service() -> Iterator[Sandbox]:
    with Sandbox(secret_key="sk_test_setups", currency="ILS") as sandbox:
        yield sandbox


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("setup", [_parameter(setup) for setup in SETUPS])
def test_the_story_holds(setup: Setup, service: Sandbox, tmp_path: Path) -> None:
    service.reset()
    with own_database(setup, SERVER) as database, Site(setup, service, tmp_path, database) as site:
        story = Story(site)
        for step in STEPS:
            if _is_told(step.__name__, setup):
                _take(step, story)


def _is_told(name: str, setup: Setup) -> bool:
    if name == "make_page_in_code":
        return "make_page" in setup.without
    if name == "sync_by_command":
        return "sync" in setup.without
    if name == "own_door":
        return bool(setup.own_door)
    return name not in setup.without


def _take(step: Any, story: Story) -> None:
    """Take a step, and say where it was taken if it fails."""
    try:
        step(story)
    except Exception as error:
        where = f"Set-up {story.setup.name!r}, step {step.__name__!r}."
        error.add_note(f"{where} The site said:\n{story.site.log[-4000:]}")
        raise
