"""The table of set-ups."""

from tests.integration.setups.rows import (
    addresses,
    admins,
    languages,
    middleware,
    own_doors,
    servers,
    stores,
)
from tests.integration.setups.setup import Setup

__all__ = ["SETUPS", "find"]

SETUPS: tuple[Setup, ...] = (
    *admins.ROWS,
    *languages.ROWS,
    *addresses.ROWS,
    *middleware.ROWS,
    *servers.ROWS,
    *own_doors.ROWS,
    *stores.ROWS,
)


def find(name: str) -> Setup:
    """Return the row with that name."""
    return next(setup for setup in SETUPS if setup.name == name)
