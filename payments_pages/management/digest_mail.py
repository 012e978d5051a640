"""The text of a digest, for a mail or a terminal: counts with links, and nothing of payers."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.choices import FulfilmentState, Mode, VerificationState
from payments_pages.conf import conf
from payments_pages.models import this_site
from payments_pages.staff import KEYS_CAP, Attention, Matter, translate_error

__all__ = ["digest_subject", "digest_text"]

_COUNTED: Final[dict[str, Promise]] = {
    "held": gettext_lazy("Payments held, waiting for a decision"),
    "spent": gettext_lazy("Deliveries that failed for good or too often"),
    "money_back": gettext_lazy("Payments delivered, and then refunded or disputed"),
    "failing": gettext_lazy("Deliveries that fail and will be tried again"),
    "overrun": gettext_lazy("Deliveries that run for too long: their handlers may hang"),
    "overrun_asks": gettext_lazy(
        "References that are being confirmed for too long: their handlers may hang"
    ),
    "contradicted": gettext_lazy("Payments called paid, which the service does not confirm"),
    "unreadable": gettext_lazy("References about which the service’s answers cannot be read"),
    "unrecorded": gettext_lazy("References whose answer could not be saved"),
    "unknown": gettext_lazy("References that the service does not know"),
    "open_for_long": gettext_lazy(
        "Payments that the service has called open for more than 30 days"
    ),
    "lapsed": gettext_lazy("References that are no longer asked about"),
    "other_mode_fulfilments": gettext_lazy("Deliveries of the other mode (test/live)"),
    "other_mode_verifications": gettext_lazy("References of the other mode (test/live)"),
}
"""What is counted, by its name in `Attention`, the most serious first."""


def digest_subject() -> str:
    """Return the subject of the mail, with the site's name if it is known."""
    return " – ".join(filter(None, (_("Payments need attention"), this_site())))


def digest_text(matters: list[Matter], found: Attention) -> str:
    """Return the text: what is wrong with the site, then a line for each kind of payments.

    Each line stands alone, so that a reader's program shows Arabic and Hebrew from the right, and
    the links below them from the left. Links need `SITE_URL`, and a list in Django's admin.
    """
    named = {matter.name: matter for matter in matters}
    lines = [*_troubles(named, found), *_counts(named)]
    end = _("This message comes once. The next one comes when there is something new.")
    return "\n".join([*lines, end, ""])


def _troubles(named: dict[str, Matter], found: Attention) -> Iterator[str]:
    waiting = _link("verification", state__exact=VerificationState.DUE)
    if "missing" in named:
        yield f"{_('A setting is missing or wrong:')}\n{translate_error(found.missing)}\n"
    if "key_refused_at" in named:
        yield _("The service refuses our key: no payment can be confirmed.") + f"\n{waiting}"
    if "overdue" in named and found.overdue is not None:
        now = timezone.now()
        text = _("The oldest due work has waited for %(time)s: is the sweep running?")
        yield text % {"time": timesince(now - found.overdue, now)} + f"\n{waiting}"


def _counts(named: dict[str, Matter]) -> Iterator[str]:
    links = {
        "held": _link("transaction", held="decision"),
        "spent": _link("transaction", held="delivery"),
        "money_back": _link("transaction", money_back="unseen"),
        "failing": _link("transaction", fulfilment__state__exact=FulfilmentState.FAILED),
        "overrun": _link("transaction", fulfilment__state__exact=FulfilmentState.DELIVERING),
        "overrun_asks": _link("verification", state__exact=VerificationState.VERIFYING),
        "contradicted": _link("verification", trouble="contradicted"),
        "unreadable": _link("verification", trouble="unreadable"),
        "unrecorded": _link("verification", trouble="unrecorded"),
        "unknown": _link("verification", trouble="unknown"),
        "open_for_long": _link("verification", trouble="open"),
        "lapsed": _link("verification", trouble="lapsed"),
        "other_mode_fulfilments": _link(
            "transaction", domain=Mode.TEST if conf.mode_or_blank == Mode.LIVE else Mode.LIVE
        ),
        "other_mode_verifications": _link("verification", state__exact=VerificationState.DUE),
    }
    for name, label in _COUNTED.items():
        if matter := named.get(name):
            yield f"{label}: {_figure(matter)}\n{links[name]}"


def _figure(matter: Matter) -> str:
    if matter.count > KEYS_CAP:
        return f"{KEYS_CAP}+"
    if matter.new in (0, matter.count):
        return str(matter.count)
    return _("%(count)d (new: %(new)d)") % {"count": matter.count, "new": matter.new}


def _link(model: str, **chosen: str) -> str:
    """Return a line with the URL of a filtered list, or an empty line."""
    if not conf.site_url:
        return ""
    try:
        path = reverse(f"admin:payments_pages_{model}_changelist")
    except NoReverseMatch:
        return ""
    return f"{conf.site_url}{path}?{urlencode(chosen)}\n"
