"""A database of a site's own on the server that DATABASE_URL names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.integration.setups.setup import Setup

__all__ = ["own_database"]


@contextmanager
def own_database(setup: Setup, server: str) -> Iterator[str]:
    """Make a database for a row about PostgreSQL, and yield its address; "" for any other row."""
    if not setup.postgresql:
        yield ""
        return
    import psycopg

    name = f"setups_{os.getpid()}"
    # The database that the address names is Django's to make: it need not be there.
    maintenance = urlsplit(server)._replace(path="/postgres").geturl()
    with psycopg.connect(maintenance, autocommit=True) as line:
        line.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            line.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[call-overload]
