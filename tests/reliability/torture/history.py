"""Let the database itself write down every change of the package's rows."""

from django.db import connection

__all__ = ["keep_history"]

_WATCHED = {
    "fulfilment": ("state", "attempts"),
    "verification": ("state", "attempts"),
    "transaction": ("status", ""),
}
_DEEDS = ("INSERT", "UPDATE", "DELETE")
_INSERT = (
    "INSERT INTO effects_change"
    " (kind, deed, reference_key, state_before, state_after, attempts_before, attempts_after)"
)


def keep_history() -> None:
    """Add the triggers: no statement, of whatever code, escapes them.

    A row replaced by `REPLACE` on SQLite, or swept away by `TRUNCATE`, is not seen to go; it is
    seen when it comes again, for its birth is written down with its key.
    """
    with connection.cursor() as cursor:
        for kind in _WATCHED:
            for deed in _DEEDS:
                for statement in _trigger(kind, deed):
                    cursor.execute(statement)


def _change(kind: str, deed: str) -> str:
    """Build the statement; nothing from outside is in it: names of our own tables and columns."""
    state, attempts = _WATCHED[kind]
    before, after = deed != "INSERT", deed != "DELETE"
    values = [
        f"'{kind}'",
        f"'{deed}'",
        "OLD.reference_key" if before else "NEW.reference_key",
        f"OLD.{state}" if before else "''",
        f"NEW.{state}" if after else "''",
        f"OLD.{attempts}" if before and attempts else "0",
        f"NEW.{attempts}" if after and attempts else "0",
    ]
    return f"{_INSERT} VALUES ({', '.join(values)})"


def _trigger(kind: str, deed: str) -> list[str]:
    change = _change(kind, deed)
    on = f"AFTER {deed} ON payments_pages_{kind} FOR EACH ROW"
    name = f"torture_{kind}_{deed.lower()}"
    if connection.vendor == "postgresql":
        body = f"$$ BEGIN {change}; RETURN NULL; END $$"
        return [
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS {body}",
            f"CREATE TRIGGER {name} {on} EXECUTE FUNCTION {name}()",
        ]
    body = f"BEGIN {change}; END" if connection.vendor == "sqlite" else change
    return [f"CREATE TRIGGER {name} {on} {body}"]
