"""Admin actions that change many pages, one by one, and show the result of each.

See docs/cases.md C55.
"""

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from django.contrib import admin, messages
from django.contrib.admin.models import DELETION
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from payments_pages.admin import permissions
from payments_pages.admin.errors import explain
from payments_pages.admin.history import changed, log_entry, removed
from payments_pages.admin.pages.formats import badges, price
from payments_pages.admin.readonly import PagesAdminMixin
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.pages import keep_remote, remove_page, send_local_back, set_active

__all__ = ["KEPT", "SENT_BACK", "BulkActionsAdminMixin", "Job"]

KEPT: Final = gettext_noop("page (kept as the service has it)")
SENT_BACK: Final = gettext_noop("page (ours sent back to the service)")
"""How the history names the two ends of a drift."""
MAX_PAGES: Final = 100
"""The most pages that one action accepts."""
MAX_SECONDS: Final = 15.0
"""Seconds after which an action stops, so that the request does not time out.

Staff press a button to continue with the other pages.
"""


class Job(NamedTuple):
    """One bulk action: its texts, and the function that it calls for each page.

    - `question`: staff are asked this first; blank: the action starts at once.
    - `done`: the text of the result for a page that was changed.
    - `log`: the same for the history, marked for translation.
    - `removes`: the action deletes the page's row, so the result has no link to the page.
    """

    action: str
    title: str
    question: str
    done: str
    log: str
    change_page: Callable[[PaymentPage], object]
    removes: bool = False


class Result(NamedTuple):
    """The result of an action for one page; `error` is blank if the page was changed."""

    page: PaymentPage
    error: str


class BulkActionsAdminMixin(PagesAdminMixin):
    """The actions of the list: activate, deactivate, end drift, remove."""

    @admin.action(description=gettext_lazy("Deactivate selected pages…"), permissions=["change"])
    def deactivate_pages(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        job = Job(
            action="deactivate_pages",
            title=_("Deactivate pages"),
            question=_("Nobody will be able to pay on these pages until you activate them again."),
            done=_("Deactivated."),
            log=gettext_noop("page (deactivated)"),
            change_page=lambda page: set_active(page, active=False),
        )
        return self._run(request, queryset, job)

    @admin.action(description=gettext_lazy("Activate selected pages"), permissions=["change"])
    def activate_pages(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        job = Job(
            action="activate_pages",
            title=_("Activate pages"),
            question="",
            done=_("Activated."),
            log=gettext_noop("page (activated)"),
            change_page=lambda page: set_active(page, active=True),
        )
        return self._run(request, queryset, job)

    @admin.action(
        description=gettext_lazy("Changed at the service: keep what it has"),
        permissions=["change"],
    )
    def keep_drift(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """End the drift of pages by accepting the service's values."""
        job = Job(
            action="keep_drift",
            title=_("Keep what the service has"),
            question="",
            done=_("Kept what the service has."),
            log=KEPT,
            change_page=keep_remote,
        )
        return self._run(request, queryset.exclude(drift={}), job)

    @admin.action(
        description=gettext_lazy("Changed at the service: send ours back…"),
        permissions=["change"],
    )
    def send_drift_back(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """End the drift of pages by sending the values that were set here."""
        job = Job(
            action="send_drift_back",
            title=_("Send ours back"),
            question=_("What was last set here will replace what the service has now."),
            done=_("Sent ours back to the service."),
            log=SENT_BACK,
            change_page=send_local_back,
        )
        return self._run(request, queryset.exclude(drift={}), job)

    @admin.action(
        description=gettext_lazy("Remove selected pages that the service does not have…"),
        permissions=["remove"],
    )
    def remove_pages(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Delete rows of pages that the service does not have and that no payment needs."""
        job = Job(
            action="remove_pages",
            title=_("Remove pages from this list"),
            question=_(
                "Only this site forgets these pages; nothing is sent to the service. A page that "
                "the service has, or that a payment names, stays."
            ),
            done=_("Removed."),
            log=gettext_noop("payment page"),
            change_page=remove_page,
            removes=True,
        )
        return self._run(request, queryset, job)

    def has_remove_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.REMOVE_PAGES)

    def _run(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage], job: Job
    ) -> HttpResponse | None:
        """Show the question, if the job has one; then change each page and show the results."""
        pages = list(queryset[: MAX_PAGES + 1])
        if len(pages) > MAX_PAGES:
            text = _("Select at most %(most)d pages at once.") % {"most": MAX_PAGES}
            self.message_user(request, text, messages.ERROR)
            return None
        if not pages:
            text = _("Nothing to do: none of these pages was changed at the service.")
            if job.removes:
                text = _("Nothing to do: these pages were removed already.")
            self.message_user(request, text, messages.INFO)
            return None
        if job.question and "confirmed" not in request.POST:
            return self._render(request, job, waiting=pages)
        results: list[Result] = []
        deadline = time.monotonic() + MAX_SECONDS
        for page in pages:
            if results and time.monotonic() > deadline:
                break
            results.append(Result(page, self._change(request, page, job)))
        return self._render(request, job, results=results, waiting=pages[len(results) :])

    def _change(self, request: HttpRequest, page: PaymentPage, job: Job) -> str:
        """Change one page and log it; return the error's text, or ""."""
        pk = page.pk  # Django sets it to None when the row is deleted
        try:
            job.change_page(page)
        except (PaymentsPagesError, DatabaseError) as error:
            return explain(error)
        if job.removes:
            message = removed(job.log, str(page))
            named = str(page)
            log_entry(request, PaymentPage, message, named=named, pk=pk, flag=DELETION)
        else:
            self.log_change(request, page, changed(job.log))
        return ""

    def _render(
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
            "results": [self._result_row(result, job) for result in results or ()],
            "done": len(results or ()) - failed,
            "failed": failed,
            "waiting": [(page, price(page.amount, page.currency)) for page in waiting],
            "list_url": self.list_url(),
        }
        name = "admin/payments_pages/paymentpage/bulk.html"
        return TemplateResponse(request, name, context)

    def _result_row(self, result: Result, job: Job) -> tuple[str, PaymentPage, SafeString, str]:
        page, error = result
        if job.removes and not error:
            return "", page, SafeString("–"), ""
        return self.change_url(page), page, badges(page), error
