"""Show what pages sold: one question for a whole list, and links to the payments it counted."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from payments_pages.admin import permissions
from payments_pages.admin.formats import money
from payments_pages.admin.lists import CappedChangeList
from payments_pages.models import PaymentPage, Transaction
from payments_pages.staff import day_bounds

__all__ = ["PageChangeList", "Sold", "last_days", "show_sold", "sold_by_page"]


class Sold(NamedTuple):
    """Count one page's payments in one currency; `amount` is minor units."""

    currency: str
    payments: int
    amount: int


class PageChangeList(CappedChangeList):
    """Know what each page that is shown has sold in the last 30 days."""

    sold: Mapping[int, list[Sold]]

    def get_results(self, request: HttpRequest) -> None:
        """Read one page of rows, and what all of them sold by one more query.

        Only for who may see transactions: sums are made of them.
        """
        super().get_results(request)
        self.sold = {}
        if request.user.has_perm(permissions.TRANSACTIONS):
            pages = list(self.result_list)
            since, until = last_days()
            self.sold = sold_by_page(
                [page.pk for page in pages], paid_at__gte=since, paid_at__lt=until
            )
            for page in pages:
                page.sold_lately = self.sold.get(page.pk, [])
            self.result_list = pages


def last_days() -> tuple[dt.datetime, dt.datetime]:
    """Return where the last 30 days begin and end, today being the last of them."""
    bounds = day_bounds(timezone.localdate())
    return bounds[0], bounds[-1]


def sold_by_page(pages: Collection[int], **period: dt.datetime) -> dict[int, list[Sold]]:
    """Sum up the successful payments of pages, by currency; test payments count on test pages."""
    rows: QuerySet[Any, Any] = (
        Transaction.objects.filter(
            page__in=pages, status="success", domain=F("page__domain"), **period
        )
        .order_by()
        .values_list("page", "currency")
        .annotate(payments=Count("pk"), total=Sum("amount"))
    )
    sums: dict[int, dict[str, Sold]] = defaultdict(dict)
    for page, spelled, count, total in rows:
        currency = spelled.upper()
        before = sums[page].get(currency, Sold(currency, 0, 0))
        sums[page][currency] = Sold(currency, before.payments + count, before.amount + (total or 0))
    return {page: [found[code] for code in sorted(found)] for page, found in sums.items()}


def show_sold(
    page: PaymentPage, sold: Collection[Sold], list_url: str, **period: dt.datetime
) -> SafeString:
    """Show counts and amounts, each line leading to the list of the payments it counted."""
    if not sold:
        return SafeString("–")
    query = {
        "page__id__exact": str(page.pk),
        "status": "success",
        "domain": page.domain,
        **{name: str(value) for name, value in period.items()},
    }
    return format_html_join(
        "",
        '<span class="pp-line"><a href="{}">{} · {}</a></span>',
        (
            (
                f"{list_url}?{urlencode({**query, 'currency': currency})}",
                format_html(
                    '<span class="pp-nowrap">{}</span>',
                    ngettext("%(count)d payment", "%(count)d payments", count) % {"count": count},
                ),
                money(amount, currency),
            )
            for currency, count, amount in sold
        ),
    )
