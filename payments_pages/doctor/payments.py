"""Examinations of the payments in the tables: what is due, and what the last ones were for."""

from collections import Counter
from typing import Final

from django.db.models import Q

from payments_pages.choices import Attributed, FulfilmentState
from payments_pages.conf import conf
from payments_pages.confirmation import (
    POLICY_REASONS,
    loud_holds,
    oldest_due,
    read_binding,
    refuse_other_site,
)
from payments_pages.counts import counted
from payments_pages.doctor.findings import Finding, right, warning, wrong
from payments_pages.exceptions import OtherSite
from payments_pages.models import Fulfilment, Transaction
from payments_pages.pages import pages_of_equal_price

__all__ = ["LAST", "attribution", "sweep"]

LAST: Final = 100
"""How many of the newest payments are looked at."""
_RUN: Final = (
    "Run payments_pages_sweep every minute by cron, or payments_pages_sweep --watch as a service: "
    "it finishes what payers and webhooks leave."
)


def sweep() -> Finding:
    """Say whether the sweep works off in time what is due, by the database's clock."""
    try:
        refuse_other_site()
    except OtherSite as error:
        return wrong(str(error), "See docs/moving.md.")
    age = oldest_due()
    seconds = 0 if age is None else max(0, int(age.total_seconds()))
    if seconds > conf.overdue:
        return wrong(
            f"The oldest due row has waited for {seconds} s; {conf.overdue:.0f} s are allowed.",
            f"{_RUN} If it runs, look at its log.",
        )
    if conf.site_url and read_binding() is None:
        return wrong("No sweep has run here yet.", _RUN)
    waited = "Nothing is due" if age is None else f"The oldest due row has waited for {seconds} s"
    return right(f"{waited}, and a sweep has run here.")


def attribution() -> Finding:
    """Say what told us what the newest payments were for, and how many of them are held."""
    paid = Transaction.objects.primary().filter(status="success").order_by("-pk")
    rows = dict(paid.values_list("pk", "attributed_by")[:LAST])
    if not rows:
        return right("There is no payment yet.")
    counts = Counter(rows.values())
    told = ", ".join(f"{by or 'nothing'} {count}" for by, count in counts.most_common())
    seen = f"The last {counted(len(rows), 'payment')}, attributed by: {told}."
    held = Fulfilment.objects.primary().filter(
        loud_holds() | ~Q(reason__in=POLICY_REASONS),
        transaction__in=list(rows),
        state=FulfilmentState.HELD,
    )
    if number := held.count():
        return warning(
            f"{seen} {number} of them {'is' if number == 1 else 'are'} held.",
            "Decide about them in the admin. If many are held because nothing says what they pay "
            "for, see ATTRIBUTION in docs/settings.md, and where the payers of these pages come back to.",
        )
    if counts[Attributed.AMOUNT] and pages_of_equal_price():
        return warning(
            f"{seen} Some pages have the same price, so that the amount does not tell them apart.",
            'Give each page a price of its own, or take "amount" out of ATTRIBUTION.',
        )
    return right(seen)
