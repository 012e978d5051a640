"""The lines of "Needs attention" on the app's index page, each with a link to its list."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from payments_pages.admin import permissions
from payments_pages.admin.filters import TroubleFilter
from payments_pages.admin.formats import format_time, quoted
from payments_pages.admin.links import reverse_admin, site_name
from payments_pages.admin.transactions.filters import HoldFilter
from payments_pages.choices import FulfilmentState, Mode, VerificationState
from payments_pages.conf import conf
from payments_pages.staff import ATTENTION_CAP, Attention, read_attention

__all__ = ["Line", "attention_lines", "format_age", "verify_reference_url"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. `kind` is "attention" or "error"; `url` is blank if there is no list to show."""

    kind: str
    text: str
    url: str = ""


def attention_lines(request: HttpRequest) -> list[Line] | None:
    """Return what needs attention, the most serious first; None if the reader sees no payments."""
    if not request.user.has_perm(permissions.TRANSACTIONS):
        return None
    found = read_attention()
    links = _Links(
        site=site_name(request),
        verifications_shown=request.user.has_perm(permissions.VERIFICATIONS),
    )
    return [*_troubles(found, links), *_counted(found, links)]


def verify_reference_url(request: HttpRequest) -> str:
    """Return the URL of "Verify a reference"; "" for people without the permission."""
    if not request.user.has_perm(permissions.VERIFY):
        return ""
    return reverse_admin(site_name(request), "payments_pages_transaction_verify_reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Links:
    """URLs of filtered lists on one admin site; blank for a list that the reader may not see."""

    site: str
    verifications_shown: bool

    def transactions(self, **chosen: str) -> str:
        url = reverse_admin(self.site, "payments_pages_transaction_changelist")
        return f"{url}?{urlencode(chosen)}"

    def verifications(self, **chosen: str) -> str:
        if not self.verifications_shown:
            return ""
        url = reverse_admin(self.site, "payments_pages_verification_changelist")
        return f"{url}?{urlencode(chosen)}"

    def trouble(self, kind: str) -> str:
        return self.verifications(**{TroubleFilter.parameter_name: kind})


def _troubles(found: Attention, links: _Links) -> list[Line]:
    """Return the lines about what stops every payment: settings, database, key, service, sweep."""
    lines: list[Line] = []
    waiting = links.verifications(state__exact=VerificationState.DUE)
    if found.missing:
        lines.append(
            Line(
                kind="error",
                text=format_html(
                    "{} {}", _("A setting is missing or wrong:"), quoted(found.missing)
                ),
            )
        )
    if found.unread:
        text = _("The database could not be read just now: what is below may be incomplete.")
        lines.append(Line(kind="error", text=text))
    if found.key_refused_at is not None:
        text = _("The service refused our key, last at {time}. No payment can be confirmed.")
        lines.append(
            Line(
                kind="error",
                text=format_html(text, time=format_time(found.key_refused_at)),
                url=waiting,
            )
        )
    if found.pause:
        text = ngettext(
            "The service keeps failing: this process sends no calls for %(count)d second.",
            "The service keeps failing: this process sends no calls for %(count)d seconds.",
            round(found.pause),
        )
        lines.append(Line(kind="error", text=text % {"count": round(found.pause)}, url=waiting))
    if found.overdue is not None:
        text = _("The oldest due work has waited for %(time)s: is the sweep running?")
        lines.append(
            Line(kind="error", text=text % {"time": format_age(found.overdue)}, url=waiting)
        )
    return lines


def _counted(found: Attention, links: _Links) -> list[Line]:
    """Return a line for each kind of payment or reference that waits for staff."""
    lines = [
        (
            found.held,
            ngettext(
                "%(count)s payment is held: it waits for a decision.",
                "%(count)s payments are held: they wait for a decision.",
                found.held,
            ),
            links.transactions(held=HoldFilter.decision),
        ),
        (
            found.spent,
            ngettext(
                "%(count)s delivery has failed for good or too often.",
                "%(count)s deliveries have failed for good or too often.",
                found.spent,
            ),
            links.transactions(held=HoldFilter.delivery),
        ),
        (
            found.failing,
            ngettext(
                "%(count)s delivery fails; it will be tried again.",
                "%(count)s deliveries fail; they will be tried again.",
                found.failing,
            ),
            links.transactions(fulfilment__state__exact=FulfilmentState.FAILED),
        ),
        (
            found.overrun,
            ngettext(
                "%(count)s delivery has run for longer than its lease: its handler may hang.",
                "%(count)s deliveries have run for longer than their lease: their handlers may hang.",
                found.overrun,
            ),
            links.transactions(fulfilment__state__exact=FulfilmentState.DELIVERING),
        ),
        (
            found.unknown,
            ngettext(
                "%(count)s reference that somebody vouched for is unknown to the service.",
                "%(count)s references that somebody vouched for are unknown to the service.",
                found.unknown,
            ),
            links.verifications(state__exact=VerificationState.UNKNOWN, vouched__exact="1"),
        ),
        *_about_asking(found, links),
        *_left_by_other_mode(found, links),
    ]
    return [
        Line(kind="attention", text=text % {"count": _figure(count)}, url=url)
        for count, text, url in lines
        if count
    ]


def _about_asking(found: Attention, links: _Links) -> Iterator[tuple[int, str, str]]:
    """Yield (count, text, url) of references that asking again does not settle."""
    yield (
        found.contradicted,
        ngettext(
            "A signed message says that %(count)s payment is paid, but the service does not confirm it.",
            "Signed messages say that %(count)s payments are paid, but the service does not confirm them.",
            found.contradicted,
        ),
        links.trouble(TroubleFilter.contradicted),
    )
    yield (
        found.unrecorded,
        ngettext(
            "The answer about %(count)s reference could not be saved: tell the site’s administrator.",
            "The answers about %(count)s references could not be saved: tell the site’s administrator.",
            found.unrecorded,
        ),
        links.trouble(TroubleFilter.unrecorded),
    )
    yield (
        found.open_for_long,
        ngettext(
            "The service has called %(count)s payment open for more than 30 days.",
            "The service has called %(count)s payments open for more than 30 days.",
            found.open_for_long,
        ),
        links.trouble(TroubleFilter.open_for_long),
    )
    yield (
        found.lapsed,
        ngettext(
            "%(count)s reference that somebody vouched for is no longer asked about.",
            "%(count)s references that somebody vouched for are no longer asked about.",
            found.lapsed,
        ),
        links.trouble(TroubleFilter.lapsed),
    )


def _left_by_other_mode(found: Attention, links: _Links) -> Iterator[tuple[int, str, str]]:
    """Yield (count, text, url) of rows of the other mode: the sweep does not touch them."""
    yield (
        found.other_mode_fulfilments,
        ngettext(
            "%(count)s delivery belongs to the other mode (test/live). It waits until MODE is switched back.",
            "%(count)s deliveries belong to the other mode (test/live). They wait until MODE is switched back.",
            found.other_mode_fulfilments,
        ),
        links.transactions(domain=_other_mode()),
    )
    yield (
        found.other_mode_verifications,
        ngettext(
            "%(count)s reference belongs to the other mode (test/live). It is not checked until MODE is switched back.",
            "%(count)s references belong to the other mode (test/live). They are not checked until MODE is switched back.",
            found.other_mode_verifications,
        ),
        links.verifications(state__exact=VerificationState.DUE),
    )


def _other_mode() -> str:
    return str(Mode.TEST if conf.mode_or_blank == Mode.LIVE else Mode.LIVE)


def _figure(count: int) -> str:
    return str(count) if count <= ATTENTION_CAP else f"{ATTENTION_CAP}+"


def format_age(age: dt.timedelta) -> str:
    """Format an age: in minutes below two hours, in hours below two days, otherwise in days."""
    minutes = int(age.total_seconds() // 60)
    if minutes < 120:
        return ngettext("%(count)d minute", "%(count)d minutes", minutes) % {"count": minutes}
    hours = minutes // 60
    if hours < 48:
        return ngettext("%(count)d hour", "%(count)d hours", hours) % {"count": hours}
    return ngettext("%(count)d day", "%(count)d days", hours // 24) % {"count": hours // 24}
