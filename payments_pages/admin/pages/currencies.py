"""Say what a typed price is counted in before the service has said it.

The service chooses a page's currency by itself and tells it in its answer (docs/service.md: what is not
shown). Its minor units must be sent before that, and 1.5 is 150 of one currency's and 1500 of another's.
"""

from dataclasses import dataclass

from django.db.models import Max

from payments_pages.conf import conf
from payments_pages.models import PaymentPage

__all__ = ["HUNDREDTHS", "Currencies", "currencies_of"]

HUNDREDTHS = 2
"""Decimals of each currency that the service is known to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Currencies:
    """The currencies that a page may turn out to have, the likeliest first.

    `asked`: their decimals differ and nothing says which it is, so that a person must. `codes` is
    empty when any of them may be meant and all count hundredths.
    """

    codes: tuple[str, ...]
    asked: bool = False

    @property
    def likeliest(self) -> str:
        """The currency to read a price in unless a person chooses; "" while nobody can know."""
        return self.codes[0] if self.codes and not self.asked else ""


def currencies_of(page: PaymentPage | None) -> Currencies:
    """Return what a page's price is counted in: by the page itself, else by the account's others.

    While the account has no page yet, it may be any currency whose decimals are known here.
    """
    if page is not None and page.remote_id is not None and page.currency:
        return Currencies(codes=(page.currency,))
    mirrored = _mirrored()
    exponents = conf.exponents
    decimals = {exponents.get(code) for code in mirrored or exponents}
    if len(decimals) == 1 and (mirrored or decimals == {HUNDREDTHS}):
        return Currencies(codes=mirrored)
    return Currencies(codes=mirrored or tuple(sorted(exponents)), asked=True)


def _mirrored() -> tuple[str, ...]:
    """Return the currencies of this mode's pages, that of the newest page first."""
    pages = PaymentPage.objects.primary().confirmed().exclude(currency="")
    if mode := conf.mode_or_blank:
        pages = pages.filter(domain=mode)
    found = pages.values("currency").annotate(newest=Max("remote_id")).order_by("-newest")
    return tuple(row["currency"] for row in found)
