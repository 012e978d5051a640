"""The path of one reference: ask the service, record the answer, decide, deliver exactly once.

Every door calls `confirm_payment`. Nothing here renders HTML or reads a request, and no call to the
service is made while a transaction of ours is open.
"""

from payments_pages.confirmation.attribution import STEPS
from payments_pages.confirmation.background import SweepReport, oldest_due, sweep_due, take_message
from payments_pages.confirmation.confirm import confirm_payment, confirm_payment_on_commit
from payments_pages.confirmation.coroutines import aconfirm_payment
from payments_pages.confirmation.due import (
    contradicted,
    lapsed,
    open_for_long,
    open_fulfilments,
    open_verifications,
    other_mode_fulfilments,
    other_mode_verifications,
    unknown,
    unreadable,
    unrecorded,
    waiting_references,
)
from payments_pages.confirmation.fulfilment import is_quiet, loud_holds, renew_lease, unmoved
from payments_pages.confirmation.handlers import (
    PLAIN_FUNCTION,
    is_unfinished,
    load_handler,
    takes_one_argument,
)
from payments_pages.confirmation.inbox import is_known
from payments_pages.confirmation.mirror import find_by_token, find_transaction
from payments_pages.confirmation.old_claims import end_old_claims
from payments_pages.confirmation.outcomes import COME_BACK, Confirmation, describe
from payments_pages.confirmation.policy import POLICY_REASONS
from payments_pages.confirmation.recording import assign
from payments_pages.confirmation.sites import (
    forget_binding,
    move_tables,
    read_binding,
    refuse_other_site,
)
from payments_pages.confirmation.timeline import append_to_timeline

__all__ = [
    "COME_BACK",
    "PLAIN_FUNCTION",
    "POLICY_REASONS",
    "STEPS",
    "Confirmation",
    "SweepReport",
    "aconfirm_payment",
    "append_to_timeline",
    "assign",
    "confirm_payment",
    "confirm_payment_on_commit",
    "contradicted",
    "describe",
    "end_old_claims",
    "find_by_token",
    "find_transaction",
    "forget_binding",
    "is_known",
    "is_quiet",
    "is_unfinished",
    "lapsed",
    "load_handler",
    "loud_holds",
    "move_tables",
    "oldest_due",
    "open_for_long",
    "open_fulfilments",
    "open_verifications",
    "other_mode_fulfilments",
    "other_mode_verifications",
    "read_binding",
    "refuse_other_site",
    "renew_lease",
    "sweep_due",
    "take_message",
    "takes_one_argument",
    "unknown",
    "unmoved",
    "unreadable",
    "unrecorded",
    "waiting_references",
]
