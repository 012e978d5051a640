"""A fixture for pytest: `pytest_plugins = ["payments_pages.testing.fixtures"]` in your `conftest.py`."""

from collections.abc import Iterator

import pytest

from payments_pages.sandbox import Sandbox
from payments_pages.testing.sites import sandboxed

__all__ = ["sandbox"]


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """Run a sandbox for this test, and let the site use it; see `payments_pages.testing.sandboxed`."""
    with sandboxed() as running:
        yield running
