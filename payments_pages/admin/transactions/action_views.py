"""The page of one action on one payment: it says what will happen, and a POST carries it out."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages import staff
from payments_pages.admin import permissions
from payments_pages.admin.errors import database_busy_message, explain
from payments_pages.admin.formats import ltr, page_name, paid_of
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.statuses import delivery_status, payment_status
from payments_pages.admin.transactions.actions import ACTIONS, Action, fingerprint
from payments_pages.admin.transactions.explanation import Explanation, explain_payment
from payments_pages.admin.transactions.payer import payer_of
from payments_pages.admin.transactions.queue import Rest, rest_of_queue
from payments_pages.choices import FulfilmentState, Reason
from payments_pages.confirmation import is_quiet
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import Fulfilment, Transaction, Verification

__all__ = [
    "Button",
    "action_url",
    "action_view",
    "actor_name",
    "apply_and_tell",
    "log_action",
    "possible_actions",
    "who_else",
]


def actor_name(request: HttpRequest) -> str:
    """Return the user name for the timeline, cut to the length of its column."""
    return request.user.get_username()[:150]


class Button(NamedTuple):
    """A button of an action: its text, its URL, and "primary", "plain", "danger" or "apart"."""

    label: object
    url: str
    look: str


def possible_actions(
    model_admin: Any, request: HttpRequest, transaction: Transaction
) -> list[Button]:
    """Return a button for each action that is possible now and that this person may take.

    The one that helps most often in the payment's state is the primary one.
    """
    found = [
        action
        for action in ACTIONS
        if request.user.has_perm(action.permission) and action.is_possible(transaction)
    ]
    names = {action.name for action in found}
    first = next((name for name in _helpful(transaction) if name in names), "")
    return [
        Button(
            action.label,
            action_url(model_admin, request, action.name, transaction.pk),
            "primary" if action.name == first else action.look,
        )
        for action in found
    ]


def who_else(request: HttpRequest, transaction: Transaction) -> str:
    """Say that somebody else can decide about a hold; "" if this person can."""
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None or fulfilment.state != FulfilmentState.HELD or is_quiet(fulfilment):
        return ""
    approves = staff.may_approve(transaction) and not request.user.has_perm(permissions.APPROVE)
    rejects = staff.may_reject(transaction) and not request.user.has_perm(permissions.REJECT)
    if approves and rejects:
        return _("A manager can approve it or reject it.")
    if approves:
        return _("A manager can approve it.")
    return _("A manager can reject it.") if rejects else ""


def _helpful(transaction: Transaction) -> tuple[str, ...]:
    """Name the actions that help in the payment's state, the best first."""
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None:
        return ("verify",)
    if fulfilment.state == FulfilmentState.HELD and is_quiet(fulfilment):
        return ()
    if fulfilment.reason in {Reason.UNATTRIBUTED, Reason.ATTRIBUTION_CONFLICT}:
        return ("attribute", "approve")
    return ("retry", "approve", "seen")


def action_view(
    model_admin: Any, request: HttpRequest, object_id: str, *, action: Action
) -> HttpResponse:
    """Say what will happen (GET), or carry the action out (POST).

    403 without the action's own permission or the permission to see transactions. If the payment
    has changed since staff looked at it, nothing is done, and they are told.
    """
    if not (request.user.has_perm(action.permission) and model_admin.has_view_permission(request)):
        raise PermissionDenied
    transaction = model_admin.get_object(request, unquote(object_id))
    if transaction is None:
        missing: HttpResponse = model_admin._get_obj_does_not_exist_redirect(  # noqa: SLF001 - no public name
            request, model_admin.opts, object_id
        )
        return missing
    back = action_url(model_admin, request, "change", transaction.pk)
    sent = request.POST if request.method == "POST" else None
    refusal = _refusal(transaction, action, sent)
    if refusal:
        _tell(model_admin, request, transaction.reference, refusal, messages.WARNING)
        return HttpResponseRedirect(back)
    form = action.form(sent, transactions=[transaction])
    if not form.is_valid():
        return _ask(model_admin, request, transaction, action, form)
    rest = rest_of_queue(transaction) if action.guarded else None
    url = rest and action_url(model_admin, request, "change", rest.next_pk)
    goes_on = "_next" in request.POST
    result = apply_and_tell(
        model_admin,
        request,
        transaction.reference,
        lambda: action.carry_out(transaction, form.cleaned_data, actor=actor_name(request)),
        otherwise=lambda: _why_not(transaction, action),
        after=_link_to_next(rest, url) if rest and url and not goes_on else "",
    )
    if result is not None:
        log_action(model_admin, request, transaction, action)
    return HttpResponseRedirect(url if url and goes_on and result is not None else back)


def log_action(model_admin: Any, request: HttpRequest, row: Model, action: Action) -> None:
    """Write an action into the history of the admin, if it changes something."""
    message = action.log_message()
    if message is not None:
        model_admin.log_change(request, row, message)


def _link_to_next(rest: Rest, url: str) -> SafeString:
    text = _("Next held payment (%(count)s left)") % {"count": rest.left}
    return format_html('<a class="pp-next" href="{}">{}</a>', url, text)


def apply_and_tell(
    model_admin: Any,
    request: HttpRequest,
    reference: str,
    apply: Callable[[], str | None],
    *,
    otherwise: Callable[[], str],
    after: str = "",
) -> str | None:
    """Call `apply`, and show its result, or what went wrong, beside the reference.

    `after` follows the result in the message. Return the result; None if there was an error, or if `apply` returned None, since the payment
    had changed: then what `otherwise` returns is shown.
    """
    try:
        result = apply()
    except PaymentsPagesError as error:
        _tell(model_admin, request, reference, explain(error), messages.ERROR)
        return None
    except (DatabaseError, InterfaceError) as error:
        _tell(model_admin, request, reference, database_busy_message(error), messages.ERROR)
        return None
    if result is None:
        _tell(model_admin, request, reference, otherwise(), messages.WARNING)
    else:
        text = format_html("{}. {}", result, after) if after else result
        _tell(model_admin, request, reference, text, messages.SUCCESS)
    return result


def _tell(model_admin: Any, request: HttpRequest, reference: str, text: str, level: int) -> None:
    model_admin.message_user(request, format_html("{}: {}", ltr(reference), text), level)


def action_url(model_admin: Any, request: HttpRequest, name: str, pk: int) -> str:
    """Return the URL of a payment's page or action, with the filters of the list it came from."""
    url: str = model_admin.reverse(f"payments_pages_transaction_{name}", pk)
    kept = {
        "preserved_filters": model_admin.get_preserved_filters(request),
        "opts": model_admin.opts,
    }
    return add_preserved_filters(kept, url)


def _refusal(transaction: Transaction, action: Action, sent: Any) -> str:
    """Say why the action cannot be offered or carried out; "" if it can."""
    if sent is not None and action.guarded and sent.get("seen") != fingerprint(transaction):
        return _("It has changed since you looked. Nothing was done.")
    return "" if action.is_possible(transaction) else _why_not(transaction, action)


def _why_not(transaction: Transaction, action: Action) -> str:
    """Say why nothing was done; a delivery may have begun since the payment was read."""
    rows = Fulfilment.objects.primary().filter(transaction=transaction)
    if rows.filter(state=FulfilmentState.DELIVERING).exists():
        return _("It is being delivered right now.")
    return str(action.impossible)


def _ask(
    model_admin: Any, request: HttpRequest, transaction: Transaction, action: Action, form: Any
) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "title": action.label,
        "opts": model_admin.opts,
        "original": transaction,
        "action": action,
        "form": form,
        "seen": fingerprint(transaction),
        "facts": _facts(request, transaction),
        "explanation": _explanation(transaction),
        "rest": rest_of_queue(transaction) if action.guarded else None,
        "back": action_url(model_admin, request, "change", transaction.pk),
        "media": model_admin.media + form.media,
    }
    return TemplateResponse(request, "admin/payments_pages/transaction/act.html", context)


def _explanation(transaction: Transaction) -> Explanation | None:
    """Explain a hold again: here it is decided about."""
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None or fulfilment.state != FulfilmentState.HELD:
        return None
    rows = Verification.objects.primary().filter(reference_key=transaction.reference_key)
    return explain_payment(transaction, rows.first())


def _facts(request: HttpRequest, transaction: Transaction) -> Iterable[tuple[str, object]]:
    fulfilment = getattr(transaction, "fulfilment", None)
    yield _("Reference"), ltr(transaction.reference)
    yield _("Amount"), paid_of(transaction)
    yield _("Payment page"), page_name(transaction.page) if transaction.page else "–"
    yield _("Payer"), payer_of(transaction, is_shown=sees_customers(request))
    yield _("Payment status"), payment_status(transaction)
    yield _("Delivery"), delivery_status(transaction)
    if fulfilment is not None and fulfilment.reason and fulfilment.state != FulfilmentState.HELD:
        yield _("Reason"), fulfilment.get_reason_display()
