"""Act on the payments that staff ticked in the list: each by itself, with its own result."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from django.contrib import admin, messages
from django.db import DatabaseError, InterfaceError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages import staff
from payments_pages.admin.errors import database_busy_message, explain
from payments_pages.admin.formats import ltr, paid_of
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.statuses import delivery_status
from payments_pages.admin.transactions.action_views import actor_name
from payments_pages.admin.transactions.actions import ACTIONS, Action, fingerprint
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import Transaction

__all__ = ["MOST", "Selected", "stop_asking", "verify_again"]

MOST = 100
"""Rows that one action takes: each may wait seconds for the service or the site's own code."""
_BY_NAME: Final = {action.name: action for action in ACTIONS}


def is_too_many(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> bool:
    """Refuse, in words, more rows than one request can take."""
    if queryset[: MOST + 1].count() <= MOST:
        return False
    text = _("Choose at most %(most)s rows at a time. Nothing was done.") % {"most": MOST}
    modeladmin.message_user(request, text, messages.ERROR)
    return True


def each(
    modeladmin: Any, request: HttpRequest, reference: str, do: Callable[[], str | None]
) -> bool:
    """Do one thing about one reference and say what became of it; True when it was done."""
    try:
        said, level = do(), messages.SUCCESS
    except PaymentsPagesError as error:
        said, level = explain(error), messages.ERROR
    except (DatabaseError, InterfaceError) as error:
        said, level = database_busy_message(error), messages.ERROR
    if said is None:
        said, level = _("nothing to do in this state."), messages.WARNING
    modeladmin.message_user(request, format_html("{}: {}", ltr(reference), said), level)
    return level == messages.SUCCESS


@admin.action(description=gettext_lazy("Ask the service again"), permissions=["verify"])
def verify_again(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Take each row's reference through the path anew; show what it found."""
    if is_too_many(modeladmin, request, queryset):
        return
    actor = actor_name(request)
    for row in list(queryset):
        if each(modeladmin, request, row.reference, partial(_ask, row.reference, actor)):
            modeladmin.log_change(request, row, "verify")


@admin.action(description=gettext_lazy("Stop asking the service"), permissions=["verify"])
def stop_asking(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Ask no more about each row's reference until somebody names it again."""
    if is_too_many(modeladmin, request, queryset):
        return
    actor = actor_name(request)
    for row in list(queryset):
        if each(modeladmin, request, row.reference, partial(_stop, row, actor)):
            modeladmin.log_change(request, row, "stop asking")


def _stop(row: Any, actor: str) -> str | None:
    return _("no longer asked about") if staff.stop_asking(row, actor=actor) else None


def _ask(reference: str, actor: str) -> str:
    return str(staff.verify_reference(reference, actor=actor).outcome.label)


class Selected(ReadOnlyAdmin):
    """Offer the decisions about deliveries as actions of the list of transactions."""

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may try deliveries again."""
        return request.user.has_perm(_BY_NAME["retry"].permission)

    def has_approve_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may approve what is held."""
        return request.user.has_perm(_BY_NAME["approve"].permission)

    def has_reject_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may reject what is held."""
        return request.user.has_perm(_BY_NAME["reject"].permission)

    def has_attribute_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may say what a payment pays for."""
        return request.user.has_perm(_BY_NAME["attribute"].permission)

    def has_verify_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may ask the service again."""
        return request.user.has_perm(_BY_NAME["verify"].permission)

    @admin.action(description=gettext_lazy("Try the delivery again"), permissions=["retry"])
    def retry_delivery(self, request: HttpRequest, queryset: QuerySet[Transaction]) -> None:
        """Run the handler again for what failed."""
        if not is_too_many(self, request, queryset):
            for row in _with_delivery(queryset):
                self._act(request, row, _BY_NAME["retry"], {})

    @admin.action(description=gettext_lazy("Approve what is held…"), permissions=["approve"])
    def approve_held(
        self, request: HttpRequest, queryset: QuerySet[Transaction]
    ) -> HttpResponse | None:
        """Deliver against the policy, for a reason."""
        return self._decide(request, queryset, "approve_held", _BY_NAME["approve"])

    @admin.action(description=gettext_lazy("Attribute to a page…"), permissions=["attribute"])
    def attribute_held(
        self, request: HttpRequest, queryset: QuerySet[Transaction]
    ) -> HttpResponse | None:
        """Say which page they all pay for; the rules decide about each."""
        return self._decide(request, queryset, "attribute_held", _BY_NAME["attribute"])

    @admin.action(description=gettext_lazy("Reject…"), permissions=["reject"])
    def reject_held(
        self, request: HttpRequest, queryset: QuerySet[Transaction]
    ) -> HttpResponse | None:
        """Refuse for good, for a reason."""
        return self._decide(request, queryset, "reject_held", _BY_NAME["reject"])

    def _decide(
        self,
        request: HttpRequest,
        queryset: QuerySet[Transaction],
        name: str,
        action: Action,
    ) -> HttpResponse | None:
        """Ask for what it needs on a page of its own; then decide about each as it was seen there."""
        if is_too_many(self, request, queryset):
            return None
        rows = list(_with_delivery(queryset))
        sent = request.POST if "confirmed" in request.POST else None
        form = action.form(sent, transactions=rows)
        if form.is_valid():
            seen = set(request.POST.getlist("seen"))
            for row in rows:
                self._act(request, row, action, form.cleaned_data, seen=seen)
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": action.label,
            "opts": self.opts,
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
                for row in rows
            ],
            "media": self.media,
        }
        template = "admin/payments_pages/transaction/act_on_selected.html"
        return TemplateResponse(request, template, context)

    def _act(
        self,
        request: HttpRequest,
        row: Transaction,
        action: Action,
        data: Any,
        *,
        seen: set[str] | None = None,
    ) -> None:
        actor = actor_name(request)

        def do() -> str | None:
            moved = seen is not None and _seen(row) not in seen
            return None if moved else action.carry_out(row, data, actor=actor)

        if each(self, request, row.reference, do):
            self.log_change(request, row, action.name)


def _with_delivery(queryset: QuerySet[Transaction]) -> QuerySet[Transaction]:
    """Read the rows with what a decision about them is made by, from the primary database."""
    rows = Transaction.objects.primary().filter(pk__in=list(queryset.values_list("pk", flat=True)))
    return rows.select_related("fulfilment", "page", "expected_payment").order_by("-pk")


def _seen(row: Transaction) -> str:
    return f"{row.pk}:{fingerprint(row)}"
