"""The notices above a page's form or above the list: what staff should know before payers pay."""

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import groupby
from operator import or_
from typing import NamedTuple

from django.db.models import F, Max, Min, Q, Window
from django.db.models.functions import RowNumber
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.formats import format_time, mode_name, money
from payments_pages.admin.pages.formats import address, is_of_other_mode
from payments_pages.conf import conf
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import ELSEWHERE, PaymentPage, is_site_known
from payments_pages.pages import callback_url, comes_back_here

__all__ = ["EqualPrice", "equal_prices", "page_notices"]

PageUrl = Callable[[PaymentPage], str]
"""A function that returns the URL of a page's form."""

MAX_PRICES, MAX_PAGES = 5, 5


class EqualPrice(NamedTuple):
    """A price, and links to the active pages that have it."""

    price: SafeString
    pages: SafeString


def page_notices(page: PaymentPage, *, site_url: str, page_url: PageUrl) -> list[SafeString]:
    """Return sentences about what is unusual about a page; at most two queries.

    `site_url` is the origin of the request.
    """
    return list(_notices(page, site_url, page_url))


def _notices(page: PaymentPage, site_url: str, page_url: PageUrl) -> Iterator[SafeString]:
    if is_of_other_mode(page):
        yield format_html(
            _(
                "This page belongs to {mode} mode; this site runs in the other. Payments on it "
                "cannot be delivered here, and it cannot be changed here."
            ),
            mode=mode_name(page.domain),
        )
    elif page.domain == "test":
        yield format_html("{}", _("Test page: what is paid on it moves no money."))
    if not page.sold_here:
        yield _elsewhere_notice(page)
    if page.remote_id is None:
        yield format_html(
            "{}",
            _(
                "The service has not confirmed this page. Save to finish making it, or sync: it "
                "is found by its slug and never made twice."
            ),
        )
        return
    if page.missing_since is not None:
        yield format_html(
            _(
                "The service has not had this page since {time}. Nobody can pay on it; what was "
                "paid before is kept here."
            ),
            time=format_time(page.missing_since),
        )
        return
    callback = _callback_url(page, site_url) if page.seller != ELSEWHERE else ""
    if callback and not comes_back_here(page, callback):
        yield format_html(
            _(
                "Payers do not come back to this site from this page. Their payments reach us "
                "only if a webhook names them, or if they were expected beforehand. The service "
                "lets nobody change a redirect address here: make a new page, or change it in "
                "the service’s own dashboard to {ours}"
            ),
            ours=format_html('<bdi dir="ltr" class="pp-address">{}</bdi>', callback),
        )
    same_price = list(PaymentPage.objects.like(page).order_by("pk")[: MAX_PAGES + 1])
    if same_price:
        yield format_html(
            _(
                "Another active page has the same price and currency: {pages}. Money alone "
                "cannot tell their payments apart: whoever paid on one could claim the other."
            ),
            pages=_links(same_price, page_url),
        )


def equal_prices(page_url: PageUrl) -> list[EqualPrice]:
    """Return the prices that several active pages share, the lowest first; at most two queries.

    The first query groups by price, and so reads each page once. A subquery for each page would
    read all pages each time.
    """
    on_sale = PaymentPage.objects.on_sale()
    if mode := conf.mode_or_blank:
        on_sale = on_sale.filter(domain=mode)
    prices = (
        on_sale.order_by("currency", "amount")
        .values_list("currency", "amount")
        .annotate(first=Min("pk"), last=Max("pk"))
        .filter(first__lt=F("last"))[:MAX_PRICES]
    )
    chosen = [Q(currency=currency, amount=amount) for currency, amount, _first, _last in prices]
    if not chosen:
        return []
    place = Window(RowNumber(), partition_by=[F("currency"), F("amount")], order_by="pk")
    rows = (
        on_sale.filter(reduce(or_, chosen))
        .annotate(place=place)
        .filter(place__lte=MAX_PAGES + 1)
        .order_by("currency", "amount", "pk")
    )
    grouped = groupby(rows, key=lambda page: (page.currency, page.amount))
    return [
        EqualPrice(money(amount, currency), _links(list(pages), page_url))
        for (currency, amount), pages in grouped
    ]


def _links(pages: list[PaymentPage], page_url: PageUrl) -> SafeString:
    links = format_html_join(
        ", ",
        '<a href="{}"><bdi dir="auto">{}</bdi></a>',
        ((page_url(page), page.name) for page in pages[:MAX_PAGES]),
    )
    if len(pages) <= MAX_PAGES:
        return links
    return format_html("{} {}", links, _("and others"))


def _elsewhere_notice(page: PaymentPage) -> SafeString:
    """Return why this site does not deliver the page's payments."""
    not_delivered = _(
        "What is paid on it is listed here, and not delivered: that site delivers it."
    )
    if page.seller:
        return format_html(
            "{} {}", _("Staff said that another site sells this page."), not_delivered
        )
    if not is_site_known():
        unknown = _(
            "Nobody can tell whether this page is of this site: set SITE_URL. What is paid on it is "
            "not delivered until then."
        )
        return format_html("{}", unknown)
    reason = format_html(
        _(
            "This page is of another site on the same account: it sends payers to {address}, which "
            "is not this site."
        ),
        address=address(page.redirect_url),
    )
    return format_html("{} {}", reason, not_delivered)


def _callback_url(page: PaymentPage, site_url: str) -> str:
    """Return the page's callback URL; "" if payers may not be able to reach this site's origin."""
    try:
        return callback_url(page, site_url)
    except PaymentsPagesError:
        return ""
