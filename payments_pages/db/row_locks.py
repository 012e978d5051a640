"""Changes of a row that another transaction may have locked, without waiting for the lock.

An atomic handler keeps the row of its delivery locked for as long as it runs, and it may never
return. Each caller that waits for such a row keeps a thread and a connection busy.
"""

import time
from typing import Any, Final

from django.db import OperationalError, connections, transaction
from django.db.models import QuerySet

from payments_pages.db.transient import HeldRowError, is_lock_refused, retry_transient

__all__ = ["change_unless_held", "foreign_keys_lock", "is_held", "refuse_held_row"]

LOOKS: Final = (0.0, 0.01, 0.03, 0.06)
"""Seconds before each look at a row. A rival that looks as well locks it for a moment."""


def change_unless_held(rows: QuerySet[Any], pk: int, **changes: object) -> int | None:
    """Change one of `rows` by compare-and-set, without waiting for a lock.

    Return 1 if it was changed, 0 if it is no longer one of `rows`, and None if another transaction
    has locked it. The conditions of `rows` are the guard. A *locking* read of the row goes before
    the change: it tells at once whether the row is free, and keeps it locked until the change is
    made. Such a read does not use a snapshot: it sees what is committed, or fails as the change
    would, and is then tried again.

    May be part of a caller's transaction. SQLite has no locks of rows: a transaction that writes
    locks the whole database, and the others wait for the `timeout` in its `OPTIONS`.
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
            # Do not go on in a caller's transaction: the database may have ended it.
            if inside or not is_lock_refused(error):
                raise
            return None

    for pause in LOOKS:
        if pause:
            time.sleep(pause)
        changed = retry_transient(change, using=using)
        if changed is not None:
            return changed
    return None


def refuse_held_row(rows: QuerySet[Any], pk: Any, *, patient: bool = False) -> None:
    """Lock a row until the transaction ends; raise `HeldRowError` at once if another has locked it.

    Call it before a change without which the transaction makes no sense. With `patient`, look a few
    times within a tenth of a second: where the others that lock the row are about to commit.
    """
    if not connections[rows.db].features.has_select_for_update:
        return
    for pause in LOOKS if patient else LOOKS[:1]:
        if pause:
            time.sleep(pause)
        if _is_free(rows, pk):
            return
    raise HeldRowError("Another transaction has locked this row.")


def is_held(rows: QuerySet[Any], pk: int) -> bool:
    """Say whether another transaction has locked a row now; never on SQLite."""
    using = rows.db
    if not connections[using].features.has_select_for_update:
        return False
    try:
        with transaction.atomic(using=using):
            return not _is_free(rows, pk)
    except OperationalError as error:
        if not is_lock_refused(error):
            raise
        return True


def foreign_keys_lock(using: str) -> bool:
    """Say whether a new row keeps others from changing the rows that its foreign keys point at.

    InnoDB (MariaDB and MySQL) locks them until the transaction ends. A caller that waits to change
    such a row also stops every caller that comes after it. PostgreSQL and SQLite allow a change
    that leaves the keys as they are.
    """
    return connections[using].vendor == "mysql"


def _is_free(rows: QuerySet[Any], pk: Any) -> bool:
    """Lock a row by its primary key alone; return False at once if another transaction has.

    By other columns MariaDB and MySQL may find the lock of another row, in an index.
    """
    features = connections[rows.db].features
    skips = features.has_select_for_update_skip_locked
    look: QuerySet[Any] = QuerySet(rows.model, using=rows.db).select_for_update(
        skip_locked=skips, nowait=not skips, no_key=features.has_select_for_no_key_update
    )
    return bool(look.filter(pk=pk).values_list("pk"))
