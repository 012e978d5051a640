"""Expressions for the database's own clock, and for texts that no index may be used for."""

import datetime as dt
from typing import Any

from django.db.models.expressions import CombinedExpression, Func
from django.db.models.functions import Now
from django.db.models.sql.compiler import SQLCompiler

__all__ = ["Unindexed", "UtcNow", "from_now"]


class UtcNow(Now):
    """The database's time, in UTC on every database.

    Django's `Now()` gives MariaDB and MySQL the *session's* local time, while Django stores
    UTC: with a server east of Greenwich every lease would seem hours old.
    """

    def as_mysql(self, compiler: SQLCompiler, connection: Any, **context: Any) -> Any:
        """Use the server's UTC clock, with microseconds."""
        return self.as_sql(compiler, connection, template="UTC_TIMESTAMP(6)", **context)


class Unindexed(Func):
    """A text column for which MariaDB and MySQL use no index.

    Although a condition has the primary key, they may choose an index on the state, and at
    REPEATABLE READ they then lock the gap beside its entry until the transaction ends: no other
    delivery could be opened while a handler runs (docs/cases.md C22).
    """

    arity = 1
    template = "%(expressions)s"

    def as_mysql(self, compiler: SQLCompiler, connection: Any, **context: Any) -> Any:
        """Hide the column in a function that changes nothing."""
        return self.as_sql(
            compiler, connection, template="COALESCE(%(expressions)s, '')", **context
        )


def from_now(seconds: float) -> CombinedExpression:
    """Return the expression for the time `seconds` after the database's now.

    Leases and due times are written and compared by the database's clock alone, so that the wrong
    clock of a web server can neither end a lease early nor make it last for ever (our decision).
    """
    return UtcNow() + dt.timedelta(seconds=seconds)
