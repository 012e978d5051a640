"""Fixtures: databases of a test's own, and a service that the site is configured for."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.copies.databases import Databases, why_left_out


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test starts a dozen processes."""
    for item in items:
        if "/copies/" in item.path.as_posix():
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def databases(
    tmp_path: Path, transactional_db: None, child_environment: Callable[[], dict[str, str]]
) -> Iterator[Databases]:
    """Databases on the server that DATABASE_URL names, or SQLite files; dropped afterwards."""
    made = Databases(tmp_path, child_environment)
    if reason := why_left_out(made.kind):
        pytest.skip(reason)
    try:
        yield made
    finally:
        made.drop_all()


@pytest.fixture
def site_url(configure: Any, sandbox: Any) -> str:
    configure(SITE_URL="https://shop.teahouse.ps")
    return "https://shop.teahouse.ps"
