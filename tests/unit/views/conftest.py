"""Fixtures for tests of the doors."""

from typing import Any

import pytest

from payments_pages.sandbox import Sandbox
from tests.unit.views.signing import HEADER, SECRET


@pytest.fixture
def open_webhook(sandbox: Sandbox, configure: Any) -> None:
    """Open the webhook, as its settings must."""
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))
