"""The lines of "Needs attention" on the app's index page, each with a link to its list."""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from payments_pages.admin import permissions
from payments_pages.admin.filters import TroubleFilter
from payments_pages.admin.formats import format_time, quoted_error
from payments_pages.admin.links import link_to, site_name
from payments_pages.admin.transactions.filters import HoldFilter, MoneyBackFilter
from payments_pages.admin.transactions.queue import given_up, waiting_for_decision
from payments_pages.choices import FulfilmentState, Mode, VerificationState
from payments_pages.conf import conf
from payments_pages.staff import ATTENTION_CAP, Attention, read_attention

__all__ = ["Line", "attention_lines", "format_age", "queue_lines", "verify_reference_url"]


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


def queue_lines(request: HttpRequest) -> list[Line]:
    """Return the lines of the two queues of held payments, for the list of all payments."""
    held, spent = (
        rows[: ATTENTION_CAP + 1].count() for rows in (waiting_for_decision(), given_up())
    )
    links = _Links(site=site_name(request), verifications_shown=False)
    return _lines(_queues(held, spent, links))


def verify_reference_url(request: HttpRequest) -> str:
    """Return the URL of "Verify a reference"; "" without it, or without the permission."""
    if not request.user.has_perm(permissions.VERIFY):
        return ""
    return link_to(site_name(request), "payments_pages_transaction_verify_reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Links:
    """URLs of filtered lists on one admin site; blank for a list that it lacks or the reader may not see."""

    site: str
    verifications_shown: bool

    def transactions(self, **chosen: str) -> str:
        return self._filtered("transaction", chosen)

    def verifications(self, **chosen: str) -> str:
        if not self.verifications_shown:
            return ""
        return self._filtered("verification", chosen)

    def _filtered(self, model: str, chosen: dict[str, str]) -> str:
        url = link_to(self.site, f"payments_pages_{model}_changelist")
        return url and f"{url}?{urlencode(chosen)}"

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
                    "{} {}", _("A setting is missing or wrong:"), quoted_error(found.missing)
                ),
            )
        )
    if found.other_site:
        text = _("These tables belong to another site, so nothing is delivered here:")
        lines.append(
            Line(kind="error", text=format_html("{} {}", text, quoted_error(found.other_site)))
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
        *_queues(found.held, found.spent, links),
        (
            found.money_back,
            ngettext(
                "%(count)s payment was delivered, and then refunded or disputed.",
                "%(count)s payments were delivered, and then refunded or disputed.",
                found.money_back,
            ),
            links.transactions(money_back=MoneyBackFilter.unseen),
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
            found.overrun_asks,
            ngettext(
                "%(count)s reference is being confirmed for longer than its lease: the handler may "
                "hang.",
                "%(count)s references are being confirmed for longer than their lease: their "
                "handlers may hang.",
                found.overrun_asks,
            ),
            links.verifications(state__exact=VerificationState.VERIFYING),
        ),
        (
            found.unknown,
            ngettext(
                "%(count)s reference you asked about is not known to the service.",
                "%(count)s references you asked about are not known to the service.",
                found.unknown,
            ),
            links.trouble(TroubleFilter.unknown),
        ),
        *_about_asking(found, links),
        *_left_by_other_mode(found, links),
    ]
    return _lines(lines)


def _lines(counted: Iterable[tuple[int, str, str]]) -> list[Line]:
    return [
        Line(kind="attention", text=text % {"count": _figure(count)}, url=url)
        for count, text, url in counted
        if count
    ]


def _queues(held: int, spent: int, links: _Links) -> Iterator[tuple[int, str, str]]:
    """Yield (count, text, url) of the two queues of held payments."""
    yield (
        held,
        ngettext(
            "%(count)s payment is held: it waits for a decision.",
            "%(count)s payments are held: they wait for a decision.",
            held,
        ),
        links.transactions(held=HoldFilter.decision),
    )
    yield (
        spent,
        ngettext(
            "%(count)s delivery has failed for good or too often.",
            "%(count)s deliveries have failed for good or too often.",
            spent,
        ),
        links.transactions(held=HoldFilter.delivery),
    )


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
        found.unreadable,
        ngettext(
            "The service’s answers about %(count)s reference cannot be read: tell the site’s administrator.",
            "The service’s answers about %(count)s references cannot be read: tell the site’s administrator.",
            found.unreadable,
        ),
        links.trouble(TroubleFilter.unreadable),
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
            "%(count)s reference that was said to be paid is no longer asked about.",
            "%(count)s references that were said to be paid are no longer asked about.",
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
