"""Let the database itself write down every change of the package's rows."""

from django.db import connection

__all__ = ["keep_history"]

_WATCHED = {
    "fulfilment": ("state", "attempts"),
    "verification": ("state", "attempts"),
    "transaction": ("status", "0"),
}
_INSERT = (
    "INSERT INTO effects_change"
    " (kind, row, state_before, state_after, attempts_before, attempts_after)"
)


def keep_history() -> None:
    """Add the triggers: no statement, of whatever code, escapes them."""
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        for kind, (state, attempts) in _WATCHED.items():
            before, after = (
                attempts if attempts == "0" else f"{which}.{attempts}" for which in ("OLD", "NEW")
            )
            # Nothing from outside is in here: names of our own tables and columns.
            insert = (
                f"{_INSERT} VALUES ('{kind}', OLD.id, OLD.{state}, NEW.{state}, {before}, {after})"
            ).replace(" row,", f" {quote('row')},")
            for statement in _trigger(kind, insert):
                cursor.execute(statement)


def _trigger(kind: str, insert: str) -> list[str]:
    on = f"AFTER UPDATE ON payments_pages_{kind} FOR EACH ROW"
    name = f"torture_{kind}"
    if connection.vendor == "postgresql":
        body = f"$$ BEGIN {insert}; RETURN NULL; END $$"
        return [
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS {body}",
            f"CREATE TRIGGER {name} {on} EXECUTE FUNCTION {name}()",
        ]
    body = f"BEGIN {insert}; END" if connection.vendor == "sqlite" else insert
    return [f"CREATE TRIGGER {name} {on} {body}"]
