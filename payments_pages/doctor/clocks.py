"""Examinations of the clocks: this machine's, the database's, the service's."""

import datetime as dt
from email.utils import parsedate_to_datetime
from typing import Final

from django.db.models import Max
from django.db.models.functions import Coalesce

from payments_pages.client import visit
from payments_pages.conf import conf
from payments_pages.db import UtcNow
from payments_pages.doctor.findings import Finding, right, unknown, wrong
from payments_pages.exceptions import ServiceError
from payments_pages.models import SiteBinding

__all__ = ["TOLERANCE", "database_clock", "service_clock"]

TOLERANCE: Final = 5.0
"""Seconds. A clock that is kept in step is off by milliseconds; five seconds are the first step of
the schedule by which the service is asked again, so less is never noticed."""
_RESOLUTION: Final = dt.timedelta(seconds=1)
"""A `Date` header is cut to the whole second."""
_ADVICE: Final = "Keep the clocks in step (NTP, chrony) on the machine that is wrong."


def database_clock() -> Finding:
    """Compare this machine's clock with the database's, which counts for leases and due times."""
    rows = SiteBinding.objects.primary()
    asked_at = dt.datetime.now(dt.UTC)
    # Coalesce: there may be no row, and then there is no maximum.
    told: dt.datetime = rows.aggregate(now=Coalesce(Max(UtcNow()), UtcNow()))["now"]
    answered_at = dt.datetime.now(dt.UTC)
    return _compared("database", told, told, asked_at, answered_at)


def service_clock() -> Finding:
    """Compare this machine's clock with the `Date` of the service's answers.

    The visit carries no key: whatever the service answers has a date.
    """
    try:
        found = visit(
            f"{conf.base_url}/page",
            limits=conf.limits,
            proxy=conf.proxy,
            ca_bundle=conf.ca_bundle,
        )
    except ServiceError as error:
        return unknown(f"The service's clock was not seen: {error}", "See the line base_url.")
    try:
        told = parsedate_to_datetime(found.headers["Date"])
    except (LookupError, ValueError):
        return unknown(
            "The service's answer has no date that can be read.",
            "Compare the time in the service's dashboard with this machine's.",
        )
    told = told if told.tzinfo else told.replace(tzinfo=dt.UTC)
    return _compared("service", told, told + _RESOLUTION, found.asked_at, found.answered_at)


def _compared(
    whose: str,
    earliest: dt.datetime,
    latest: dt.datetime,
    asked_at: dt.datetime,
    answered_at: dt.datetime,
) -> Finding:
    """Compare the time that another clock showed with the time of ours in which it was read."""
    ahead = (earliest - answered_at).total_seconds()
    behind = (asked_at - latest).total_seconds()
    off = max(ahead, behind)
    if off <= TOLERANCE:
        return right(f"The {whose}'s clock and this machine's agree.")
    way = "ahead of" if ahead > behind else "behind"
    return wrong(f"The {whose}'s clock is {off:.0f} s {way} this machine's.", _ADVICE)
