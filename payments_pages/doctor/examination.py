"""The examination: each line by its name, one after the other, whatever becomes of the others."""

from collections.abc import Callable, Iterator, Mapping

from payments_pages.doctor.account import Account
from payments_pages.doctor.caches import cache
from payments_pages.doctor.checks import handler, settings
from payments_pages.doctor.clocks import database_clock, service_clock
from payments_pages.doctor.databases import transactions
from payments_pages.doctor.doors import callback, webhook
from payments_pages.doctor.findings import Finding, wrong
from payments_pages.doctor.payments import attribution, sweep
from payments_pages.exceptions import ConfigurationError

__all__ = ["LINES", "examine"]


def _lines(account: Account) -> Mapping[str, Callable[[], Finding]]:
    return {
        "settings": settings,
        "base_url": account.base_url,
        "key": account.key,
        "mode": account.mode,
        "pages": account.pages,
        "pay_url": account.pay_url,
        "slug_check": account.slug_check,
        "service_clock": service_clock,
        "database_clock": database_clock,
        "transactions": transactions,
        "cache": cache,
        "sweep": sweep,
        "handler": handler,
        "callback": callback,
        "webhook": webhook,
        "attribution": attribution,
    }


LINES = tuple(_lines(Account()))
"""The names of the lines, in their order. They do not change: scripts read them."""


def examine(
    *, progress: Callable[[str], object] = lambda name: None
) -> Iterator[tuple[str, Finding]]:
    """Yield each line's name and finding; `progress` is called with the name before it is looked at.

    Nothing is changed at the service or in the tables. Every call has a deadline. An error of one
    line is its finding, and the others are looked at all the same.
    """
    for name, look in _lines(Account()).items():
        progress(name)
        try:
            finding = look()
        except ConfigurationError as error:
            finding = wrong(str(error), "Run manage.py check: it says what to write.")
        except Exception as error:  # noqa: BLE001 - the other lines must be told
            # Not its text, which may quote anything.
            finding = wrong(
                f"This could not be looked at: {type(error).__name__}.",
                "See the other lines, and run manage.py check and manage.py migrate --check.",
            )
        yield name, finding
