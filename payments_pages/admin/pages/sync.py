"""Sync all pages from the admin, in steps so short that no request times out.

Each step mirrors at most 100 pages. Between two steps everything travels in a signed token that
belongs to one person and dies after a while: nothing is kept here, and any web server may take
the next step. A script takes step after step; without one, each step's page has a button.
"""

import datetime as dt
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    JsonResponse,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from payments_pages.admin import permissions
from payments_pages.admin.errors import explain
from payments_pages.admin.readonly import PagesPart
from payments_pages.db import outside_transactions
from payments_pages.exceptions import (
    AuthenticationFailed,
    ConfigurationError,
    InvalidResponse,
    PaymentsPagesError,
    RequestRefused,
)
from payments_pages.models import PaymentPage
from payments_pages.pages import Sync, SyncReport, continue_sync, finish_sync

__all__ = ["MAX_AGE", "SyncSteps", "read_token", "write_token"]

URL_NAME = "payments_pages_paymentpage_sync"
LISTS: Final = 2
"""Lists read in one step: 100 pages, and two calls at most."""
MAX_AGE: Final = 900
"""Seconds within which the next step must be asked for."""
_SALT = "payments_pages.sync"


class SyncSteps(PagesPart):
    """Take a sync's steps."""

    def get_urls(self) -> list[URLPattern]:
        """Add the sync."""
        sync = self.admin_site.admin_view(self.sync_view)
        return [path("sync/", outside_transactions(sync), name=URL_NAME), *super().get_urls()]

    def has_sync_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may sync."""
        return request.user.has_perm(permissions.SYNC_PAGES)

    def sync_view(self, request: HttpRequest) -> HttpResponse:
        """Take the first step, or with a `token` the next one; answer a page, or JSON if asked.

        JSON is `{seen, added, changed, unchanged, total, text, done, next}` with the token in
        `next`; where the listing broke off also `error`, and the same step may be tried again.
        """
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_sync_permission(request):
            raise PermissionDenied
        token = request.POST.get("token", "")
        try:
            sync = read_token(token, request.user.pk) if token else Sync()
        except signing.BadSignature:
            return self._too_late(request)
        error = ""
        try:
            if not sync.done:
                continue_sync(sync, lists=LISTS)
            if sync.done:
                report = finish_sync(sync)
                return self._finished(request, report)
        except InvalidResponse as broken:
            if sync.done:
                return self._useless(request, sync.report)
            error = _broken_off(broken)
        except (PaymentsPagesError, DatabaseError) as broken:
            error = _broken_off(broken)
        return self._between(request, sync, error)

    def _between(self, request: HttpRequest, sync: Sync, error: str) -> HttpResponse:
        state = {
            "seen": sync.report.seen,
            "added": sync.report.added,
            "changed": sync.report.changed,
            "unchanged": sync.report.unchanged,
            "total": sync.total,
            "text": _progress_text(sync),
            "done": False,
            "next": write_token(sync, request.user.pk),
        }
        if error:
            state["error"] = error
        if _wants_json(request):
            return JsonResponse(state)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Sync with the service"),
            "opts": self.opts,
            "media": self.media,
            "state": state,
            "list_url": self.list_url(),
        }
        name = "admin/payments_pages/paymentpage/sync.html"
        return TemplateResponse(request, name, context)

    def _finished(self, request: HttpRequest, report: SyncReport) -> HttpResponse:
        text = _(
            "Synced: %(added)d added, %(changed)d changed, %(unchanged)d unchanged, "
            "%(missing)d newly missing."
        ) % {
            "added": report.added,
            "changed": report.changed,
            "unchanged": report.unchanged,
            "missing": report.missing,
        }
        self.message_user(request, text, messages.SUCCESS)
        if report.drifted:
            note = ngettext(
                "%(count)d page is not as it was last set here. Decide on its own page.",
                "%(count)d pages are not as they were last set here. Decide on their own pages.",
                report.drifted,
            ) % {"count": report.drifted}
            self.message_user(request, note, messages.WARNING)
        if report.skipped:
            self.message_user(request, _skipped_text(report), messages.WARNING)
        _log(request, text)
        return self._to_list(request)

    def _useless(self, request: HttpRequest, report: SyncReport) -> HttpResponse:
        """End a sync that came through the list, but could not read all of it."""
        text = _(
            "Some listed pages cannot be read. All that could be read is mirrored, and nothing was "
            "marked as missing."
        )
        self.message_user(request, text, messages.ERROR)
        self.message_user(request, _skipped_text(report), messages.WARNING)
        _log(request, text)
        return self._to_list(request)

    def _too_late(self, request: HttpRequest) -> HttpResponse:
        text = _("This sync was begun too long ago, or by somebody else. Begin a new one.")
        self.message_user(request, text, messages.ERROR)
        return self._to_list(request)

    def _to_list(self, request: HttpRequest) -> HttpResponse:
        url = self.list_url()
        if _wants_json(request):
            return JsonResponse({"done": True, "url": url})
        return HttpResponseRedirect(url)


def write_token(sync: Sync, person: object) -> str:
    """Put a sync down: all it needs to go on, signed for one person; about 1 kB."""
    report = sync.report
    state = {
        "person": str(person),
        "started": sync.started.isoformat(),
        "number": sync.number,
        "last": sync.last,
        "nameless": sync.nameless,
        "skipped": [text[:200] for text in report.skipped_pages],
        "counts": [
            report.added,
            report.changed,
            report.unchanged,
            report.drifted,
            report.skipped,
        ],
    }
    return signing.dumps(state, salt=_SALT, compress=True)


def read_token(token: str, person: object) -> Sync:
    """Take a sync up; raise `BadSignature` if the token is old, forged or somebody else's."""
    state: dict[str, Any] = signing.loads(token, salt=_SALT, max_age=MAX_AGE)
    if state["person"] != str(person):
        raise signing.BadSignature("The token is somebody else's.")
    added, changed, unchanged, drifted, skipped = state["counts"]
    return Sync(
        started=dt.datetime.fromisoformat(state["started"]),
        number=state["number"],
        last=tuple(state["last"]),
        seen=set(state["last"]),
        nameless=state["nameless"],
        report=SyncReport(
            added=added,
            changed=changed,
            unchanged=unchanged,
            drifted=drifted,
            skipped=skipped,
            skipped_pages=tuple(state["skipped"]),
        ),
    )


def _broken_off(error: PaymentsPagesError | DatabaseError) -> str:
    """Say why the next list did not come, and that what came before it is kept."""
    kept = _("The listing broke off. What was read so far is mirrored; continue when you like.")
    told = AuthenticationFailed | ConfigurationError | DatabaseError | RequestRefused
    ours = isinstance(error, told)
    return f"{kept} {explain(error)}" if ours else kept


def _skipped_text(report: SyncReport) -> str:
    """Name the listed pages that are not mirrored."""
    return ngettext(
        "%(count)d listed page was left out: %(pages)s",
        "%(count)d listed pages were left out: %(pages)s",
        report.skipped,
    ) % {"count": report.skipped, "pages": " ".join(report.skipped_pages)}


def _progress_text(sync: Sync) -> str:
    seen = sync.report.seen
    if sync.total:
        return _("%(seen)d of %(total)d pages") % {"seen": seen, "total": sync.total}
    return ngettext("%(seen)d page so far", "%(seen)d pages so far", seen) % {"seen": seen}


def _wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def _log(request: HttpRequest, text: str) -> None:
    """Write the audit trail's line; it is about all pages, so about no single one."""
    person: Any = request.user.pk
    LogEntry.objects.create(
        user_id=person,
        content_type=ContentType.objects.get_for_model(PaymentPage),
        object_id=None,
        object_repr=str(PaymentPage._meta.verbose_name_plural),  # noqa: SLF001 - Django's API
        action_flag=CHANGE,
        change_message=text,
    )
