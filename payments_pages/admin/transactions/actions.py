"""The actions on one payment: each with its permission, its texts and its use case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_lazy, gettext_noop

from payments_pages import staff
from payments_pages.admin import permissions
from payments_pages.admin.history import HistoryMessage, changed
from payments_pages.admin.transactions.forms import (
    ActionForm,
    AttributeForm,
    NoteForm,
    ReasonForm,
    SeenForm,
)
from payments_pages.admin.transactions.holds import still_held
from payments_pages.choices import Outcome
from payments_pages.models import Fulfilment, Transaction
from payments_pages.staff import StaffDecision

__all__ = ["ACTIONS", "Action", "fingerprint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that staff can do about a payment.

    `name` is the last part of its URL and of the URL's name. `decide` is the use case, whose
    further arguments are the fields of `form`. `done` is what staff read after a use case that
    has no outcome. `guarded`: nothing is done if the payment has changed since staff looked at it.
    `look` is how its button looks: "plain", "danger" or "apart". `changes` is what the history of
    the admin names as changed, in English; blank for an action that changes nothing by itself.
    """

    name: str
    permission: str
    label: object
    consequence: object
    is_possible: Callable[[Transaction], bool]
    decide: StaffDecision
    done: object = ""
    form: type[ActionForm] = ActionForm
    guarded: bool = True
    look: str = "plain"
    changes: str = ""
    impossible: object = gettext_lazy("This is not possible in its current state.")

    def carry_out(
        self, transaction: Transaction, data: Mapping[str, Any], *, actor: str
    ) -> str | None:
        """Carry it out with a cleaned form; return the result in words, None if it has moved on."""
        found = self.decide(transaction, actor=actor, **data)
        if found is Outcome.HELD and data.get("page") is not None:
            return still_held(transaction, data["page"])
        if isinstance(found, Outcome):
            return str(found.label)
        return str(self.done) if found else None

    def log_message(self) -> HistoryMessage | None:
        """Return the message for the history of the admin, which each reader gets translated.

        None: nothing is written there. The timeline has every action.
        """
        return changed(self.changes) if self.changes else None


def fingerprint(transaction: Transaction) -> str:
    """Return what a decision depends on, to find out whether it has changed since staff saw it."""
    row: Fulfilment | None = getattr(transaction, "fulfilment", None)
    seen = (
        (row.state, row.reason, row.attempts, row.money_back_unseen, row.money_back_at or "")
        if row
        else ("", "", 0, "")
    )
    return ":".join(map(str, (*seen, transaction.status, transaction.page_id or "")))


ACTIONS: Final = (
    Action(
        name="approve",
        permission=permissions.APPROVE,
        label=gettext_lazy("Approve and deliver"),
        consequence=gettext_lazy(
            "The service is asked whether it is still paid. If it is, the value is delivered now, "
            "although the rules held it. That cannot be undone here."
        ),
        is_possible=staff.may_approve,
        decide=staff.approve,
        changes=gettext_noop("delivery (approved)"),
        form=ReasonForm,
    ),
    Action(
        name="attribute",
        permission=permissions.ATTRIBUTE,
        label=gettext_lazy("Attribute to a page"),
        consequence=gettext_lazy(
            "The service is asked whether it is still paid. If it is, the rules decide again, as if "
            "the payer had named this page: if the payment fits it, the value is delivered now; if "
            "not, it stays held."
        ),
        is_possible=staff.may_attribute,
        decide=staff.attribute,
        changes=gettext_noop("payment page"),
        form=AttributeForm,
    ),
    Action(
        name="retry",
        permission=permissions.RETRY,
        label=gettext_lazy("Try the delivery again"),
        consequence=gettext_lazy(
            "The site's own code runs again to deliver now. Nothing is ever delivered twice."
        ),
        is_possible=staff.may_retry,
        decide=staff.retry,
        changes=gettext_noop("delivery (tried again)"),
    ),
    Action(
        name="verify",
        permission=permissions.VERIFY,
        label=gettext_lazy("Ask the service again"),
        consequence=gettext_lazy(
            "The service is asked about this payment now, and the answer is acted on. What was "
            "delivered stays delivered."
        ),
        is_possible=lambda _transaction: True,
        decide=staff.verify,
        guarded=False,
    ),
    Action(
        name="reject",
        permission=permissions.REJECT,
        label=gettext_lazy("Reject"),
        consequence=gettext_lazy(
            "Nothing will be delivered for this payment. This does not refund the payer: refund "
            "the payment at the service."
        ),
        is_possible=staff.may_reject,
        decide=staff.reject,
        changes=gettext_noop("delivery (rejected)"),
        look="danger",
        done=gettext_lazy("rejected"),
        form=ReasonForm,
    ),
    Action(
        name="reopen",
        permission=permissions.APPROVE,
        label=gettext_lazy("Take the rejection back"),
        consequence=gettext_lazy(
            "The payment is held again, for the reason that it had. Nothing is delivered now: you "
            "decide about it anew. If it has been refunded at the service, leave it rejected."
        ),
        is_possible=staff.may_reopen,
        decide=staff.reopen,
        changes=gettext_noop("delivery (rejection taken back)"),
        done=gettext_lazy("held again"),
        form=ReasonForm,
    ),
    Action(
        name="seen",
        permission=permissions.NOTE,
        label=gettext_lazy("Mark the refund or dispute as seen"),
        consequence=gettext_lazy(
            "It no longer needs attention, until the service tells of another one. Nothing else "
            "changes."
        ),
        is_possible=staff.may_mark_seen,
        decide=staff.mark_seen,
        changes=gettext_noop("refund or dispute (seen)"),
        done=gettext_lazy("seen"),
        form=SeenForm,
    ),
    Action(
        name="note",
        permission=permissions.NOTE,
        label=gettext_lazy("Add a note"),
        consequence=gettext_lazy("The note is added to the timeline. Nothing else changes."),
        is_possible=lambda _transaction: True,
        decide=staff.add_note,
        changes=gettext_noop("notes"),
        look="apart",
        done=gettext_lazy("noted"),
        form=NoteForm,
        guarded=False,
    ),
)
"""All actions, in the order of their buttons."""
