"""Do one thing to many pages, one by one, and show what became of each (docs/cases.md C55)."""

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from django.contrib import admin, messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.errors import explain
from payments_pages.admin.pages.formats import badges, price
from payments_pages.admin.readonly import PagesPart
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.pages import keep_remote, remove_page, send_local_back, set_active

__all__ = ["BulkActions"]

MOST: Final = 100
"""Pages that one action takes."""
PATIENCE: Final = 15.0
"""Seconds after which what is left waits for a button: no request may time out."""


class Job(NamedTuple):
    """Describe one bulk action: what it asks before, does to each, and says after.

    If it `removes`, no page is left to lead to.
    """

    action: str
    title: str
    question: str
    done: str
    do: Callable[[PaymentPage], object]
    removes: bool = False


class Result(NamedTuple):
    """Tell what became of one page: `error` is blank if it was done."""

    page: PaymentPage
    error: str


class BulkActions(PagesPart):
    """Activate, deactivate, and settle what was changed at the service."""

    @admin.action(description=gettext_lazy("Deactivate selected pages…"), permissions=["change"])
    def deactivate_pages(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Take pages off sale at the service."""
        job = Job(
            action="deactivate_pages",
            title=_("Deactivate pages"),
            question=_("Nobody will be able to pay on these pages until you activate them again."),
            done=_("Deactivated."),
            do=lambda page: set_active(page, active=False),
        )
        return self._run(request, queryset, job)

    @admin.action(description=gettext_lazy("Activate selected pages"), permissions=["change"])
    def activate_pages(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Put pages on sale at the service."""
        job = Job(
            action="activate_pages",
            title=_("Activate pages"),
            question="",
            done=_("Activated."),
            do=lambda page: set_active(page, active=True),
        )
        return self._run(request, queryset, job)

    @admin.action(
        description=gettext_lazy("Changed at the service: keep what it has"),
        permissions=["change"],
    )
    def keep_drift(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Settle drift: the service's version stands."""
        job = Job(
            action="keep_drift",
            title=_("Keep what the service has"),
            question="",
            done=_("Kept what the service has."),
            do=keep_remote,
        )
        return self._run(request, queryset.exclude(drift={}), job)

    @admin.action(
        description=gettext_lazy("Changed at the service: send ours back…"),
        permissions=["change"],
    )
    def send_drift_back(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Settle drift: our version is set at the service again."""
        job = Job(
            action="send_drift_back",
            title=_("Send ours back"),
            question=_("What was last set here will replace what the service has now."),
            done=_("Sent ours back to the service."),
            do=send_local_back,
        )
        return self._run(request, queryset.exclude(drift={}), job)

    @admin.action(
        description=gettext_lazy("Remove selected pages that the service does not have…"),
        permissions=["remove"],
    )
    def remove_pages(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Forget pages that are gone and that nobody paid; nothing is sent to the service."""
        job = Job(
            action="remove_pages",
            title=_("Remove pages from this list"),
            question=_(
                "Only this site forgets these pages; nothing is sent to the service. A page that "
                "the service has, or that a payment names, stays."
            ),
            done=_("Removed."),
            do=remove_page,
            removes=True,
        )
        return self._run(request, queryset, job)

    def has_remove_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may remove pages that are gone."""
        return request.user.has_perm(permissions.REMOVE_PAGES)

    def _run(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage], job: Job
    ) -> HttpResponse | None:
        """Ask first where it matters; then do it to each, and show a row for each."""
        pages = list(queryset[: MOST + 1])
        if len(pages) > MOST:
            text = _("Select at most %(most)d pages at once.") % {"most": MOST}
            self.message_user(request, text, messages.ERROR)
            return None
        if not pages:
            text = _("Nothing to do: none of these pages was changed at the service.")
            if job.removes:
                text = _("Nothing to do: these pages were removed already.")
            self.message_user(request, text, messages.INFO)
            return None
        if job.question and "confirmed" not in request.POST:
            return self._answer(request, job, waiting=pages)
        results: list[Result] = []
        until = time.monotonic() + PATIENCE
        for page in pages:
            if results and time.monotonic() > until:
                break
            results.append(Result(page, self._do(request, page, job)))
        return self._answer(request, job, results=results, waiting=pages[len(results) :])

    def _do(self, request: HttpRequest, page: PaymentPage, job: Job) -> str:
        """Do it to one page by itself; return what went wrong, or nothing."""
        number = page.pk  # a deleted object has none
        try:
            job.do(page)
        except (PaymentsPagesError, DatabaseError) as error:
            return explain(error)
        if job.removes:
            _log_removal(request, number, page)
        else:
            self.log_change(request, page, job.done)
        return ""

    def _answer(
        self,
        request: HttpRequest,
        job: Job,
        *,
        results: list[Result] | None = None,
        waiting: list[PaymentPage],
    ) -> HttpResponse:
        failed = sum(bool(result.error) for result in results or ())
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": job.title,
            "opts": self.opts,
            "media": self.media,
            "job": job,
            "asking": results is None,
            "results": [self._row(row, job) for row in results or ()],
            "done": len(results or ()) - failed,
            "failed": failed,
            "waiting": [(page, price(page.amount, page.currency)) for page in waiting],
            "list_url": self.list_url(),
        }
        name = "admin/payments_pages/paymentpage/bulk.html"
        return TemplateResponse(request, name, context)

    def _row(self, result: Result, job: Job) -> tuple[str, PaymentPage, SafeString, str]:
        page, error = result
        if job.removes and not error:
            return "", page, SafeString("–"), ""
        return self.change_url(page), page, badges(page), error


def _log_removal(request: HttpRequest, number: int, page: PaymentPage) -> None:
    person: Any = request.user.pk
    LogEntry.objects.create(
        user_id=person,
        content_type=ContentType.objects.get_for_model(PaymentPage),
        object_id=str(number),
        object_repr=str(page)[:200],
        action_flag=DELETION,
        change_message=_("Removed."),
    )
