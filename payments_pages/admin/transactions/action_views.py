"""The page of one action on one payment: it says what will happen, and a POST carries it out."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from payments_pages.admin.errors import database_busy_message, explain
from payments_pages.admin.formats import ltr, paid_of
from payments_pages.admin.statuses import delivery_status, payment_status
from payments_pages.admin.transactions.actions import ACTIONS, Action, fingerprint
from payments_pages.choices import FulfilmentState
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import Fulfilment, Transaction

__all__ = ["action_view", "actor_name", "apply_and_tell", "possible_actions"]


def actor_name(request: HttpRequest) -> str:
    """Return the user name for the timeline, cut to the length of its column."""
    return request.user.get_username()[:150]


def possible_actions(
    model_admin: Any, request: HttpRequest, transaction: Transaction
) -> list[tuple[object, str]]:
    """Return (label, URL) of each action that is possible now and that this person may take."""
    return [
        (action.label, _url(model_admin, action.name, transaction))
        for action in ACTIONS
        if request.user.has_perm(action.permission) and action.is_possible(transaction)
    ]


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
    back = _url(model_admin, "change", transaction)
    sent = request.POST if request.method == "POST" else None
    refusal = _refusal(transaction, action, sent)
    if refusal:
        _tell(model_admin, request, transaction.reference, refusal, messages.WARNING)
        return HttpResponseRedirect(back)
    form = action.form(sent, transactions=[transaction])
    if not form.is_valid():
        return _ask(model_admin, request, transaction, action, form)
    result = apply_and_tell(
        model_admin,
        request,
        transaction.reference,
        lambda: action.carry_out(transaction, form.cleaned_data, actor=actor_name(request)),
        otherwise=lambda: _why_not(transaction, action),
    )
    if result is not None:
        model_admin.log_change(request, transaction, f"{action.name}: {result}")
    return HttpResponseRedirect(back)


def apply_and_tell(
    model_admin: Any,
    request: HttpRequest,
    reference: str,
    apply: Callable[[], str | None],
    *,
    otherwise: Callable[[], str],
) -> str | None:
    """Call `apply`, and show its result, or what went wrong, beside the reference.

    Return the result; None if there was an error, or if `apply` returned None, since the payment
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
        _tell(model_admin, request, reference, result, messages.SUCCESS)
    return result


def _tell(model_admin: Any, request: HttpRequest, reference: str, text: str, level: int) -> None:
    model_admin.message_user(request, format_html("{}: {}", ltr(reference), text), level)


def _url(model_admin: Any, name: str, transaction: Transaction) -> str:
    url: str = model_admin.reverse(f"payments_pages_transaction_{name}", transaction.pk)
    return url


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
        "facts": _facts(transaction),
        "back": _url(model_admin, "change", transaction),
        "media": model_admin.media + form.media,
    }
    return TemplateResponse(request, "admin/payments_pages/transaction/act.html", context)


def _facts(transaction: Transaction) -> Iterable[tuple[str, object]]:
    fulfilment = getattr(transaction, "fulfilment", None)
    yield _("Reference"), ltr(transaction.reference)
    yield _("Amount"), paid_of(transaction)
    yield _("Payment status"), payment_status(transaction)
    yield _("Delivery"), delivery_status(transaction)
    if fulfilment is not None and fulfilment.reason:
        yield _("Reason"), fulfilment.get_reason_display()
