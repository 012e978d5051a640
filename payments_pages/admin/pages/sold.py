"""What pages sold: one query for a whole list, and links to the payments that it counted."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Count, F, QuerySet, Sum
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, ngettext

from payments_pages.admin.formats import money
from payments_pages.admin.links import link_to
from payments_pages.admin.lists import CappedChangeList
from payments_pages.models import PaymentPage, Transaction
from payments_pages.money import fold_currency
from payments_pages.staff import day_bounds

__all__ = ["PageChangeList", "Sold", "last_days", "show_sold", "sold_by_page"]


class Sold(NamedTuple):
    """The number and sum of a page's payments in one currency; `amount` is in minor units."""

    currency: str
    payments: int
    amount: int


class PageChangeList(CappedChangeList):
    """The list of pages, with the sums of each page's payments in the last 30 days."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the rows and, by one more query, the sums of their payments.

        The sums are read only if the list has their column.
        """
        super().get_results(request)
        if "sold" not in self.list_display:
            return
        self.result_list = list(self.result_list)
        since, until = last_days()
        sums = sold_by_page(
            [page.pk for page in self.result_list], paid_at__gte=since, paid_at__lt=until
        )
        site = self.model_admin.admin_site.name
        list_url = link_to(site, "payments_pages_transaction_changelist")

        @admin.display(description=gettext_lazy("sold in 30 days"))
        def sold(page: PaymentPage) -> SafeString:
            return show_sold(
                page, sums.get(page.pk, ()), list_url, paid_at__gte=since, paid_at__lt=until
            )

        # A column of this request: the sums are neither in the rows nor in the shared model admin.
        self.list_display = [sold if name == "sold" else name for name in self.list_display]


def last_days() -> tuple[dt.datetime, dt.datetime]:
    """Return the begin and the end of the last 30 days of the project's `TIME_ZONE`."""
    bounds = day_bounds()
    return bounds[0], bounds[-1]


def sold_by_page(pages: Collection[int], **period: dt.datetime) -> dict[int, list[Sold]]:
    """Return the sums of pages' successful payments, by page and currency.

    A payment counts only if it has the mode of its page: test payments count on test pages alone.
    """
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
        currency = fold_currency(spelled)
        before = sums[page].get(currency, Sold(currency, 0, 0))
        sums[page][currency] = Sold(currency, before.payments + count, before.amount + (total or 0))
    return {page: [found[code] for code in sorted(found)] for page, found in sums.items()}


def show_sold(
    page: PaymentPage, sold: Collection[Sold], list_url: str, **period: dt.datetime
) -> SafeString:
    """Return a line for each currency: count and amount, with a link to its payments.

    `list_url` is blank if this admin has no such list.
    """
    if not sold:
        return SafeString("–")
    query = {
        "page__id__exact": str(page.pk),
        "status": "success",
        "domain": page.domain,
        **{name: str(value) for name, value in period.items()},
    }
    lines = (
        (
            format_html(
                '<span class="pp-nowrap">{}</span> · {}',
                ngettext("%(count)d payment", "%(count)d payments", count) % {"count": count},
                money(amount, currency),
            ),
            f"{list_url}?{urlencode({**query, 'currency': currency})}",
        )
        for currency, count, amount in sold
    )
    line = '<a href="{1}">{0}</a>' if list_url else "{0}"
    return format_html_join("", f'<span class="pp-line">{line}</span>', lines)
