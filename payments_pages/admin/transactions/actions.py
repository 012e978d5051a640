"""Name what staff can do about one payment: its permission, its words, its use case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages import staff
from payments_pages.admin.transactions.forms import ActionForm, AttributeForm, NoteForm, ReasonForm
from payments_pages.choices import Door
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.models import Fulfilment, Transaction

__all__ = ["ACTIONS", "Action", "ask", "fingerprint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Describe one thing staff can do.

    `name` is the last part of its address and of the address's name. `carry_out` gets the
    payment, the cleaned form and the actor; it returns what came of it, in words, or None when
    the payment has moved on. `guarded`: what staff saw must still be so.
    """

    name: str
    permission: str
    label: object
    consequence: object
    is_possible: Callable[[Transaction], bool]
    carry_out: Callable[[Transaction, Mapping[str, Any], str], str | None]
    form: type[ActionForm] = ActionForm
    guarded: bool = True
    impossible: object = gettext_lazy("This cannot be done in the state it is in now.")


def fingerprint(transaction: Transaction) -> str:
    """Return what a decision depends on, for finding out whether it has changed since it was seen."""
    row = _fulfilment(transaction)
    seen = (row.state, row.reason, row.attempts) if row else ("", "", 0)
    return ":".join(map(str, (*seen, transaction.status, transaction.page_id or "")))


def _fulfilment(transaction: Transaction) -> Fulfilment | None:
    found: Fulfilment | None = getattr(transaction, "fulfilment", None)
    return found


def _when(may: Callable[[Fulfilment], bool]) -> Callable[[Transaction], bool]:
    def is_possible(transaction: Transaction) -> bool:
        row = _fulfilment(transaction)
        return row is not None and may(row)

    return is_possible


def ask(reference: str, actor: str) -> Confirmation:
    """Ask the service about a reference that staff name, whatever is known about it."""
    return confirm_payment(
        reference, door=Door.ADMIN, refresh=True, vouched=True, deliver_now=True, actor=actor
    )


def _verify(transaction: Transaction, _data: Mapping[str, Any], actor: str) -> str:
    return str(ask(transaction.reference, actor).outcome.label)


def _retry(transaction: Transaction, _data: Mapping[str, Any], actor: str) -> str | None:
    outcome = staff.retry(transaction.fulfilment, actor=actor)
    return outcome and str(outcome.label)


def _approve(transaction: Transaction, data: Mapping[str, Any], actor: str) -> str | None:
    row = transaction.fulfilment
    outcome = staff.approve(row, actor=actor, note=data["note"])
    return outcome and str(outcome.label)


def _reject(transaction: Transaction, data: Mapping[str, Any], actor: str) -> str | None:
    row = transaction.fulfilment
    return _("rejected") if staff.reject(row, actor=actor, note=data["note"]) else None


def _attribute(transaction: Transaction, data: Mapping[str, Any], actor: str) -> str | None:
    row = transaction.fulfilment
    outcome = staff.attribute(row, data["page"], actor=actor, note=data["note"])
    return outcome and str(outcome.label)


def _note(transaction: Transaction, data: Mapping[str, Any], actor: str) -> str:
    staff.note(transaction, data["note"], actor=actor)
    return _("noted")


ACTIONS: Final = (
    Action(
        name="approve",
        permission="payments_pages.approve_fulfilment",
        label=gettext_lazy("Approve and deliver"),
        consequence=gettext_lazy(
            "The service is asked whether it is still paid. If it is, the value is delivered now, "
            "although the rules held it. That cannot be undone here."
        ),
        is_possible=_when(staff.may_approve),
        carry_out=_approve,
        form=ReasonForm,
    ),
    Action(
        name="attribute",
        permission="payments_pages.attribute_transaction",
        label=gettext_lazy("Attribute to a page"),
        consequence=gettext_lazy(
            "The service is asked whether it is still paid. If it is, the rules decide again, as if "
            "the payer had named this page: if the payment fits it, the value is delivered now; if "
            "not, it stays held."
        ),
        is_possible=_when(staff.may_attribute),
        carry_out=_attribute,
        form=AttributeForm,
    ),
    Action(
        name="retry",
        permission="payments_pages.retry_fulfilment",
        label=gettext_lazy("Try the delivery again"),
        consequence=gettext_lazy(
            "The site's own code is asked to give the value now. It can never be given twice."
        ),
        is_possible=_when(staff.may_retry),
        carry_out=_retry,
    ),
    Action(
        name="verify",
        permission="payments_pages.verify_transaction",
        label=gettext_lazy("Ask the service again"),
        consequence=gettext_lazy(
            "The service is asked what it says about this payment now, and what follows from the "
            "answer is done. What is delivered stays delivered."
        ),
        is_possible=lambda _transaction: True,
        carry_out=_verify,
        guarded=False,
    ),
    Action(
        name="reject",
        permission="payments_pages.reject_fulfilment",
        label=gettext_lazy("Reject"),
        consequence=gettext_lazy(
            "Nothing is ever delivered for this payment. The payer gets no money back by this: "
            "refund it at the service."
        ),
        is_possible=_when(staff.may_reject),
        carry_out=_reject,
        form=ReasonForm,
    ),
    Action(
        name="note",
        permission="payments_pages.note_transaction",
        label=gettext_lazy("Add a note"),
        consequence=gettext_lazy("The note is added to the timeline. Nothing else changes."),
        is_possible=lambda _transaction: True,
        carry_out=_note,
        form=NoteForm,
        guarded=False,
    ),
)
"""All of them, in the order in which their buttons stand."""
