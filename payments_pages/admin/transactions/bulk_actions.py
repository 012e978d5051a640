"""Actions on the payments, or references, that staff ticked in a list: each has its own result."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from payments_pages import staff
from payments_pages.admin.formats import ltr, paid_of
from payments_pages.admin.history import HistoryMessage, changed
from payments_pages.admin.statuses import delivery_status
from payments_pages.admin.transactions.action_views import actor_name, apply_and_tell
from payments_pages.admin.transactions.actions import ACTIONS, Action, fingerprint
from payments_pages.admin.transactions.forms import ActionForm
from payments_pages.models import Transaction

__all__ = [
    "MOST",
    "STOPPED",
    "approve_held",
    "attribute_held",
    "reject_held",
    "retry_delivery",
    "stop_asking",
    "verify_again",
]

MOST = 100
"""Rows that one action takes: each may wait seconds for the service or the site's own code."""
STOPPED: Final = gettext_noop("automatic checks (stopped)")
_BY_NAME: Final = {action.name: action for action in ACTIONS}


@admin.action(description=gettext_lazy("Ask the service again"), permissions=["verify"])
def verify_again(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Verify each row's reference again, and show the outcome."""

    def verify(row: Any, actor: str) -> str:
        return str(staff.verify_reference(row.reference, actor=actor).outcome.label)

    _apply_to_each(modeladmin, request, queryset, verify)


@admin.action(description=gettext_lazy("Stop asking the service"), permissions=["verify"])
def stop_asking(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Ask no more about each row's reference until somebody names it again."""

    def stop(row: Any, actor: str) -> str | None:
        return _("no longer asked about") if staff.stop_asking(row, actor=actor) else None

    _apply_to_each(modeladmin, request, queryset, stop, changed(STOPPED))


@admin.action(description=gettext_lazy("Try the delivery again"), permissions=["retry"])
def retry_delivery(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Transaction]) -> None:
    """Run the handler again for each delivery that failed."""

    def retry(row: Transaction, actor: str) -> str | None:
        return _BY_NAME["retry"].carry_out(row, {}, actor=actor)

    log = _BY_NAME["retry"].log_message()
    _apply_to_each(modeladmin, request, queryset, retry, log, read=_with_delivery)


@admin.action(description=gettext_lazy("Approve what is held…"), permissions=["approve"])
def approve_held(
    modeladmin: Any, request: HttpRequest, queryset: QuerySet[Transaction]
) -> HttpResponse | None:
    """Deliver against the policy, for a reason."""
    return _decide(modeladmin, request, queryset, "approve_held", _BY_NAME["approve"])


@admin.action(description=gettext_lazy("Attribute to a page…"), permissions=["attribute"])
def attribute_held(
    modeladmin: Any, request: HttpRequest, queryset: QuerySet[Transaction]
) -> HttpResponse | None:
    """Name the page that they all pay for; the policy decides about each of them."""
    return _decide(modeladmin, request, queryset, "attribute_held", _BY_NAME["attribute"])


@admin.action(description=gettext_lazy("Reject…"), permissions=["reject"])
def reject_held(
    modeladmin: Any, request: HttpRequest, queryset: QuerySet[Transaction]
) -> HttpResponse | None:
    """Refuse each, for a reason."""
    return _decide(modeladmin, request, queryset, "reject_held", _BY_NAME["reject"])


def _apply_to_each(
    modeladmin: Any,
    request: HttpRequest,
    queryset: QuerySet[Any],
    apply: Callable[[Any, str], str | None],
    log: HistoryMessage | None = None,
    *,
    read: Callable[[QuerySet[Any]], Iterable[Any]] = list,
) -> None:
    """Call `apply` with each row and the actor's name, and show each result.

    `log` is written into the history of the admin, None for a mere question; `read` gets the rows
    from the database.
    """
    if _is_too_many(modeladmin, request, queryset):
        return
    for row in read(queryset):
        _apply(modeladmin, request, row, apply, log)


def _apply(
    modeladmin: Any,
    request: HttpRequest,
    row: Any,
    apply: Callable[[Any, str], str | None],
    log: HistoryMessage | None,
) -> None:
    result = apply_and_tell(
        modeladmin,
        request,
        row.reference,
        partial(apply, row, actor_name(request)),
        otherwise=lambda: _("nothing to do in this state."),
    )
    if result is not None and log is not None:
        modeladmin.log_change(request, row, log)


def _is_too_many(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> bool:
    """Say whether there are more rows than one request can take; if so, tell staff."""
    if queryset[: MOST + 1].count() <= MOST:
        return False
    text = _("Choose at most %(most)s rows at a time. Nothing was done.") % {"most": MOST}
    modeladmin.message_user(request, text, messages.ERROR)
    return True


def _decide(
    modeladmin: Any,
    request: HttpRequest,
    queryset: QuerySet[Transaction],
    name: str,
    action: Action,
) -> HttpResponse | None:
    """Show the form of the action; once it is filled in, decide about each row as it was shown."""
    if _is_too_many(modeladmin, request, queryset):
        return None
    rows = list(_with_delivery(queryset))
    sent = request.POST if "confirmed" in request.POST else None
    form = action.form(sent, transactions=rows)
    if not form.is_valid():
        return _ask(modeladmin, request, name, action, form)
    seen = set(request.POST.getlist("seen"))

    def decide(row: Transaction, actor: str) -> str | None:
        if _seen(row) not in seen:
            return None
        return action.carry_out(row, form.cleaned_data, actor=actor)

    for row in rows:
        _apply(modeladmin, request, row, decide, action.log_message())
    return None


def _ask(
    modeladmin: Any, request: HttpRequest, name: str, action: Action, form: ActionForm
) -> HttpResponse:
    context = {
        **modeladmin.admin_site.each_context(request),
        "title": action.label,
        "opts": modeladmin.opts,
        "form": form,
        "action": action,
        "name": name,
        "rows": [
            {
                "pk": row.pk,
                "seen": _seen(row),
                "reference": ltr(row.reference),
                "amount": paid_of(row),
                "delivery": delivery_status(row),
                "reason": row.fulfilment.get_reason_display()
                if hasattr(row, "fulfilment") and row.fulfilment.reason
                else "",
                "possible": action.is_possible(row),
            }
            for row in form.transactions
        ],
        "media": modeladmin.media,
    }
    template = "admin/payments_pages/transaction/act_on_selected.html"
    return TemplateResponse(request, template, context)


def _with_delivery(queryset: QuerySet[Transaction]) -> QuerySet[Transaction]:
    """Read the rows, with all that a decision needs, from the primary database."""
    rows = Transaction.objects.primary().filter(pk__in=list(queryset.values_list("pk", flat=True)))
    return rows.select_related("fulfilment", "page", "expected_payment").order_by("-pk")


def _seen(row: Transaction) -> str:
    return f"{row.pk}:{fingerprint(row)}"
