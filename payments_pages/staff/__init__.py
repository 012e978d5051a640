"""What the merchant's staff do: decide about payments, count, export, grant roles, delete old data.

No HTML here: the admin and the commands call these functions.
"""

from payments_pages.staff.attention import ATTENTION_CAP, Attention, read_attention
from payments_pages.staff.decisions import (
    ATTRIBUTABLE,
    NOTE_LENGTH,
    StaffDecision,
    add_note,
    approve,
    attribute,
    is_of_other_mode,
    may_approve,
    may_attribute,
    may_reject,
    may_retry,
    reject,
    retry,
    stop_asking,
    verify,
    verify_reference,
)
from payments_pages.staff.export import write_csv
from payments_pages.staff.masking import mask_email
from payments_pages.staff.retention import SHORTEST, forget_payers, purge_events, purge_lapsed
from payments_pages.staff.roles import Granted, make_groups
from payments_pages.staff.totals import DAYS, Currency, Day, Figure, day_bounds, take_totals

__all__ = [
    "ATTENTION_CAP",
    "ATTRIBUTABLE",
    "DAYS",
    "NOTE_LENGTH",
    "SHORTEST",
    "Attention",
    "Currency",
    "Day",
    "Figure",
    "Granted",
    "StaffDecision",
    "add_note",
    "approve",
    "attribute",
    "day_bounds",
    "forget_payers",
    "is_of_other_mode",
    "make_groups",
    "mask_email",
    "may_approve",
    "may_attribute",
    "may_reject",
    "may_retry",
    "purge_events",
    "purge_lapsed",
    "read_attention",
    "reject",
    "retry",
    "stop_asking",
    "take_totals",
    "verify",
    "verify_reference",
    "write_csv",
]
