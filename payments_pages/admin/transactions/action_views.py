"""Lead staff through one action on one payment: a page that says what will happen, then a POST."""

import functools
from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext as _

from payments_pages.admin.errors import database_busy_message, explain
from payments_pages.admin.formats import ltr, paid_of
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.statuses import delivery_status, payment_status
from payments_pages.admin.transactions.actions import ACTIONS, Action, fingerprint
from payments_pages.choices import FulfilmentState
from payments_pages.db import outside_transactions
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import Fulfilment, Transaction

__all__ = ["Acting", "actor_name"]


def actor_name(request: HttpRequest) -> str:
    """Return the name that goes into the timeline, as long as its column takes."""
    return request.user.get_username()[:150]


class Acting(ReadOnlyAdmin):
    """Add an address for each action to the transactions' admin."""

    def get_urls(self) -> list[URLPattern]:
        """Put the actions before Django's own addresses, the last of which takes everything."""
        return [*map(self._path, ACTIONS), *super().get_urls()]

    def _path(self, action: Action) -> URLPattern:
        view = self.admin_site.admin_view(functools.partial(self.act_view, action=action))
        pattern: URLPattern = path(
            f"<path:object_id>/{action.name}/",
            outside_transactions(view),
            name=f"payments_pages_transaction_{action.name}",
        )
        return pattern

    def possible_actions(self, request: HttpRequest, transaction: Transaction) -> list[Any]:
        """Return (label, address) of what can be done now by this person."""
        return [
            (action.label, self._url(action.name, transaction))
            for action in ACTIONS
            if request.user.has_perm(action.permission) and action.is_possible(transaction)
        ]

    def act_view(self, request: HttpRequest, object_id: str, *, action: Action) -> HttpResponse:
        """Say what will happen (GET), or do it (POST).

        403 without the action's own permission or that to see transactions. What has moved on
        since staff looked is left alone, and they are told.
        """
        if not (request.user.has_perm(action.permission) and self.has_view_permission(request)):
            raise PermissionDenied
        transaction = self.get_object(request, unquote(object_id))
        if transaction is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined, no-any-return]  # Django's own, not in its stubs
        moved = request.method == "POST" and action.guarded and not _as_seen(request, transaction)
        if moved:
            self._tell(request, transaction, _("It has changed since you looked. Nothing was done."),
                       messages.WARNING)  # fmt: skip
            return self._back(transaction)
        if not action.is_possible(transaction):
            self._tell(request, transaction, _why_not(transaction, action), messages.WARNING)
            return self._back(transaction)
        form = action.form(
            request.POST if request.method == "POST" else None, transactions=[transaction]
        )
        if form.is_valid():
            self._carry_out(request, transaction, action, form.cleaned_data)
            return self._back(transaction)
        return self._ask(request, transaction, action, form)

    def _carry_out(
        self, request: HttpRequest, transaction: Transaction, action: Action, data: Any
    ) -> None:
        try:
            said = action.carry_out(transaction, data, actor=actor_name(request))
        except PaymentsPagesError as error:
            self._tell(request, transaction, explain(error), messages.ERROR)
        except (DatabaseError, InterfaceError) as error:
            self._tell(request, transaction, database_busy_message(error), messages.ERROR)
        else:
            if said is None:
                self._tell(request, transaction, _why_not(transaction, action), messages.WARNING)
                return
            self._tell(request, transaction, said, messages.SUCCESS)
            self.log_change(request, transaction, f"{action.name}: {said}")

    def _url(self, name: str, transaction: Transaction) -> str:
        return self.reverse(f"payments_pages_transaction_{name}", transaction.pk)

    def _back(self, transaction: Transaction) -> HttpResponse:
        return HttpResponseRedirect(self._url("change", transaction))

    def _tell(self, request: HttpRequest, transaction: Transaction, text: str, level: int) -> None:
        told = format_html("{}: {}", ltr(transaction.reference), text)
        self.message_user(request, told, level)

    def _ask(
        self, request: HttpRequest, transaction: Transaction, action: Action, form: Any
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": action.label,
            "opts": self.opts,
            "original": transaction,
            "action": action,
            "form": form,
            "seen": fingerprint(transaction),
            "facts": _facts(transaction),
            "back": self._url("change", transaction),
            "media": self.media + form.media,
        }
        return TemplateResponse(request, "admin/payments_pages/transaction/act.html", context)


def _as_seen(request: HttpRequest, transaction: Transaction) -> bool:
    return request.POST.get("seen") == fingerprint(transaction)


def _why_not(transaction: Transaction, action: Action) -> str:
    """Say why nothing was done; a delivery may have begun since the payment was read."""
    rows = Fulfilment.objects.primary().filter(transaction=transaction)
    if rows.filter(state=FulfilmentState.DELIVERING).exists():
        return _("It is being delivered right now.")
    return str(action.impossible)


def _facts(transaction: Transaction) -> Iterable[tuple[str, object]]:
    fulfilment = getattr(transaction, "fulfilment", None)
    yield _("Reference"), ltr(transaction.reference)
    yield _("Amount"), paid_of(transaction)
    yield _("Payment status"), payment_status(transaction)
    yield _("Delivery"), delivery_status(transaction)
    if fulfilment is not None and fulfilment.reason:
        yield _("Reason"), fulfilment.get_reason_display()
