"""The sync of all pages in the admin, in steps so short that no request times out.

A step mirrors at most 100 pages. The response to a step contains a signed token with the state of
the sync, so the server stores nothing between two steps, and any web server may take the next one.
A token is valid for one user and for `MAX_AGE` seconds. A script takes one step after the other;
without a script, the page of each step has a button.
"""

import datetime as dt
from html import unescape
from typing import Any, Final
from urllib.parse import urlsplit

from django.contrib import messages
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
from django.utils.html import format_html_join, strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from payments_pages.admin import permissions
from payments_pages.admin.errors import explain
from payments_pages.admin.formats import format_sentence, quoted_error
from payments_pages.admin.history import log_entry, made
from payments_pages.admin.readonly import PagesAdminMixin
from payments_pages.conf import conf
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

__all__ = ["MAX_AGE", "SyncAdminMixin", "read_token", "write_token"]

URL_NAME = "payments_pages_paymentpage_sync"
LISTS_PER_STEP: Final = 2
"""The lists that one step reads: 100 pages, and at most two calls."""
MAX_AGE: Final = 900
"""Seconds after which a token is no longer valid."""
SYNCED: Final = gettext_noop("sync of all payment pages (added, changed, unchanged, newly missing)")
SYNCED_IN_PART: Final = gettext_noop(
    "sync that could not read some payment pages (added, changed, unchanged, newly missing)"
)
"""How the history names a sync; its figures follow."""
_SALT = "payments_pages.sync"


class SyncAdminMixin(PagesAdminMixin):
    """The view that takes one step of a sync."""

    def get_urls(self) -> list[URLPattern]:
        sync = self.admin_site.admin_view(self.sync_view)
        return [path("sync/", outside_transactions(sync), name=URL_NAME), *super().get_urls()]

    def has_sync_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.SYNC_PAGES)

    def sync_view(self, request: HttpRequest) -> HttpResponse:
        """Take the first step or, if the request has a `token`, the next one.

        The response is a page, or JSON if the request accepts that:
        `{seen, added, changed, unchanged, total, text, done, next}`; `next` is the token of the
        next step. If the listing broke off, there is an `error`, and the same step can be tried
        again. After the last step it is `{done, url}`, with the URL of the list.
        """
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_sync_permission(request):
            raise PermissionDenied
        token = request.POST.get("token", "")
        try:
            sync = read_token(token, request.user.pk) if token else Sync()
        except signing.BadSignature:
            return self._refuse_token(request)
        error = ""
        try:
            if not sync.done:
                continue_sync(sync, lists=LISTS_PER_STEP)
            if sync.done:
                report = finish_sync(sync)
                return self._end(request, report)
        except InvalidResponse as broken:
            if sync.done:
                return self._end_unreadable(request, sync.report)
            error = _broken_off(broken)
        except (PaymentsPagesError, DatabaseError) as broken:
            error = _broken_off(broken)
        return self._respond(request, sync, error)

    def _respond(self, request: HttpRequest, sync: Sync, error: str) -> HttpResponse:
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

    def _end(self, request: HttpRequest, report: SyncReport) -> HttpResponse:
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
            warning = ngettext(
                "%(count)d page is not as it was last set here. Decide on its own page.",
                "%(count)d pages are not as they were last set here. Decide on their own pages.",
                report.drifted,
            ) % {"count": report.drifted}
            self.message_user(request, warning, messages.WARNING)
        if report.skipped:
            self.message_user(request, _skipped_text(report), messages.WARNING)
        _log(request, SYNCED, report)
        return self._to_list(request)

    def _end_unreadable(self, request: HttpRequest, report: SyncReport) -> HttpResponse:
        """End a sync that read all lists, but could not identify every page in them."""
        text = _(
            "Some listed pages cannot be read. All that could be read is mirrored, and nothing was "
            "marked as missing."
        )
        self.message_user(request, text, messages.ERROR)
        self.message_user(request, _skipped_text(report), messages.WARNING)
        _log(request, SYNCED_IN_PART, report)
        return self._to_list(request)

    def _refuse_token(self, request: HttpRequest) -> HttpResponse:
        text = _("This sync was begun too long ago, or by somebody else. Begin a new one.")
        self.message_user(request, text, messages.ERROR)
        return self._to_list(request)

    def _to_list(self, request: HttpRequest) -> HttpResponse:
        url = self.list_url()
        if _wants_json(request):
            return JsonResponse({"done": True, "url": url})
        return HttpResponseRedirect(url)


def write_token(sync: Sync, user: object) -> str:
    """Return the state of a sync, signed for one user (a primary key); about 1 kB.

    The names in a token do not change: a sync may go on while a new version is installed.
    """
    report = sync.report
    state = {
        "person": str(user),
        "started": sync.started.isoformat(),
        "number": sync.number,
        "last": sync.last,
        "nameless": sync.unidentified,
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


def read_token(token: str, user: object) -> Sync:
    """Return the sync of a token; raise `BadSignature` if it is old, forged or another user's."""
    state: dict[str, Any] = signing.loads(token, salt=_SALT, max_age=MAX_AGE)
    if state["person"] != str(user):
        raise signing.BadSignature("The token is somebody else's.")
    added, changed, unchanged, drifted, skipped = state["counts"]
    return Sync(
        started=dt.datetime.fromisoformat(state["started"]),
        number=state["number"],
        last=tuple(state["last"]),
        seen=set(state["last"]),
        unidentified=state["nameless"],
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
    """Return that the listing broke off; and why, if staff can do something about it.

    It is plain text, which a script shows, too.
    """
    text = _("The listing broke off. What was read so far is mirrored; continue when you like.")
    explained = AuthenticationFailed | ConfigurationError | DatabaseError | RequestRefused
    return (
        f"{text} {unescape(strip_tags(explain(error)))}" if isinstance(error, explained) else text
    )


def _skipped_text(report: SyncReport) -> SafeString:
    """Return a sentence, for HTML, that names the listed pages which are not mirrored."""
    words = ngettext(
        "{count} listed page was left out: {pages}",
        "{count} listed pages were left out: {pages}",
        report.skipped,
    )
    told = format_html_join(" ", "{}", ((quoted_error(why),) for why in report.skipped_pages))
    return format_sentence(words, count=report.skipped, pages=told)


def _progress_text(sync: Sync) -> str:
    seen = sync.report.seen
    if sync.total:
        return _("%(seen)d of %(total)d pages") % {"seen": seen, "total": sync.total}
    return ngettext("%(seen)d page so far", "%(seen)d pages so far", seen) % {"seen": seen}


def _wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def _log(request: HttpRequest, name: str, report: SyncReport) -> None:
    """Write a line of the history; it is about all pages, so it names the service."""
    counts = (report.added, report.changed, report.unchanged, report.missing)
    message = made(name, ", ".join(map(str, counts)))
    log_entry(request, PaymentPage, message, named=urlsplit(conf.base_url).netloc)
