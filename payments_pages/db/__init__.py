"""What differs between databases: their clock, short-lived errors, open transactions, locked rows.

This room knows no model. Some of its functions must not run inside an open transaction of the
caller; they say so.
"""

from payments_pages.db.compiled import READ_AGAINST, Insert, Select, Update
from payments_pages.db.expressions import Unindexed, UtcNow, from_now
from payments_pages.db.indexes import CaseBlindIndex
from payments_pages.db.row_locks import (
    change_unless_held,
    foreign_keys_lock,
    is_held,
    refuse_held_row,
)
from payments_pages.db.transactions import (
    outside_transactions,
    refuse_ended_transaction,
    refuse_open_transaction,
    refuse_open_transaction_around_loop,
    renew_connections,
)
from payments_pages.db.transient import (
    RETRY_WITHIN,
    HeldRowError,
    is_transient,
    is_unstorable,
    retry_transient,
)

__all__ = [
    "READ_AGAINST",
    "RETRY_WITHIN",
    "CaseBlindIndex",
    "HeldRowError",
    "Insert",
    "Select",
    "Unindexed",
    "Update",
    "UtcNow",
    "change_unless_held",
    "foreign_keys_lock",
    "from_now",
    "is_held",
    "is_transient",
    "is_unstorable",
    "outside_transactions",
    "refuse_ended_transaction",
    "refuse_held_row",
    "refuse_open_transaction",
    "refuse_open_transaction_around_loop",
    "renew_connections",
    "retry_transient",
]
