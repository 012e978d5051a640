"""Change a row that somebody else may hold, without waiting for its lock.

An atomic handler holds the row of its delivery for as long as it runs, and it may never return.
Whoever waits for such a row holds a thread and a connection meanwhile, and so would the next one.
"""

import time
from typing import Any, Final

from django.db import OperationalError, connections, transaction
from django.db.models import QuerySet

from payments_pages.db.transient import HeldRowError, is_lock_refused, retry_transient

__all__ = ["change_unless_held", "refuse_held_row"]

LOOKS: Final = (0.0, 0.01, 0.03, 0.06)
"""Seconds before each look at a row. A rival that only looks, too, holds it for a moment."""


def change_unless_held(rows: QuerySet[Any], pk: int, **changes: object) -> int | None:
    """Change one of `rows` by compare-and-set, and wait for nobody: None, if somebody holds it.

    0 when it is no longer one of them, else 1. The conditions of `rows` are the guard, as
    always. A *locking* read of the row goes before it, which says at once whether the row is
    free, and keeps it so until the change is made. It is no snapshot's read: it sees what is
    committed, or fails as the change itself would, and is then tried again.

    May be part of a caller's transaction. On SQLite there is nothing to look at: whoever
    writes holds the whole database, and the others wait for as long as the `timeout` in its
    `OPTIONS` says.
    """
    using = rows.db
    one = rows.filter(pk=pk)

    features = connections[using].features

    def change(_number: int) -> int | None:
        if not features.has_select_for_update:
            return one.update(**changes)
        inside = connections[using].in_atomic_block
        try:
            with transaction.atomic(using=using, savepoint=False):
                return one.update(**changes) if _is_free(rows, pk) else None
        except OperationalError as error:
            # A caller's transaction is not ours to go on with: the database may have ended it.
            if inside or not is_lock_refused(error):
                raise
            return None

    for pause in LOOKS:
        time.sleep(pause)
        changed = retry_transient(change, using=using)
        if changed is not None:
            return changed
    return None


def refuse_held_row(rows: QuerySet[Any], pk: int) -> None:
    """Raise `HeldRowError`, at once, if somebody holds a row; else hold it to the transaction's end.

    Before a change that a transaction cannot do without.
    """
    if connections[rows.db].features.has_select_for_update and not _is_free(rows, pk):
        raise HeldRowError("Somebody holds this row.")


def _is_free(rows: QuerySet[Any], pk: int) -> bool:
    """Lock a row by its primary key alone; False, at once, if somebody else has done so.

    By other columns MariaDB and MySQL may meet the lock of another row, in an index.
    """
    features = connections[rows.db].features
    skips = features.has_select_for_update_skip_locked
    look: QuerySet[Any] = QuerySet(rows.model, using=rows.db).select_for_update(
        skip_locked=skips, nowait=not skips, no_key=features.has_select_for_no_key_update
    )
    return bool(look.filter(pk=pk).values_list("pk"))
