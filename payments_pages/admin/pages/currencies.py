"""The currency in which to read a typed price, before the service has named the page's currency.

The service chooses a page's currency and names it in its response (docs/service.md: what is not
shown). But a request must already have minor units, and 1.5 is 150 minor units in one currency and
1500 in another.
"""

from dataclasses import dataclass

from django.db.models import Max

from payments_pages.conf import conf
from payments_pages.models import PaymentPage

__all__ = ["HUNDREDTHS", "Currencies", "currencies_of"]

HUNDREDTHS = 2
"""The decimals of every currency that the service is known to support."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Currencies:
    """The currencies that a page may have, the likeliest first.

    - `codes` is empty if nothing is known, except that every possible currency has two decimals.
    - `newest`: the currency of the account's newest page; "" if it has none.
    - `asked`: the possible currencies have different decimals, so staff must choose one.
    """

    codes: tuple[str, ...]
    newest: str = ""
    asked: bool = False

    @property
    def likeliest(self) -> str:
        """The currency in which to read a price if staff did not choose one; "" if unknown."""
        return self.codes[0] if self.codes and not self.asked else ""


def currencies_of(page: PaymentPage | None) -> Currencies:
    """Return the page's currency if it has one, else the currencies of the account's other pages.

    If the account has no page yet, these are all currencies whose decimals are known here.
    """
    if page is not None and page.remote_id is not None and page.currency:
        return Currencies(codes=(page.currency,))
    mirrored = _mirrored()
    newest = mirrored[0] if mirrored else ""
    exponents = conf.exponents
    decimals = {exponents.get(code) for code in mirrored or exponents}
    if len(decimals) == 1 and (mirrored or decimals == {HUNDREDTHS}):
        return Currencies(codes=mirrored, newest=newest)
    codes = mirrored or tuple(sorted(exponents))
    return Currencies(codes=codes, newest=newest, asked=True)


def _mirrored() -> tuple[str, ...]:
    """Return the currencies of the pages in this mode; that of the newest page comes first."""
    pages = PaymentPage.objects.primary().confirmed().exclude(currency="")
    if mode := conf.mode_or_blank:
        pages = pages.filter(domain=mode)
    found = pages.values("currency").annotate(newest=Max("remote_id")).order_by("-newest")
    return tuple(row["currency"] for row in found)
