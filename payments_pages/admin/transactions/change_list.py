"""The list of payments with what those that it finds come to, and what to do if it finds none."""

import logging
from typing import Any, NamedTuple

from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from payments_pages.admin import permissions
from payments_pages.admin.formats import mode_name, money
from payments_pages.admin.links import reverse_admin
from payments_pages.admin.lists import CappedChangeList
from payments_pages.admin.transactions.search import keys_of, search_hint
from payments_pages.conf import conf
from payments_pages.exceptions import ConfigurationError
from payments_pages.marks import clean_pasted
from payments_pages.staff import Sums, add_up

__all__ = ["ListedSum", "PaymentChangeList"]

logger = logging.getLogger("payments_pages.totals")


class ListedSum(NamedTuple):
    """What the listed payments come to.

    `amounts` has one for each currency, with the mode beside it unless that is this site's.
    `is_whole` says that every listed payment is in them. `left_out` could not be added.
    """

    amounts: list[tuple[SafeString, str]]
    is_whole: bool
    left_out: int


class PaymentChangeList(CappedChangeList):
    """The list of payments; it adds up what a filter or a search finds, up to the list's cap."""

    search_hint = ""
    ask_url = ""
    sum: ListedSum | None = None

    def get_results(self, request: HttpRequest) -> None:
        """Read one page of rows, and by one more query the sums of all of them."""
        super().get_results(request)
        self.search_hint = search_hint(request)
        narrowed = self.has_active_filters or self.query
        if narrowed and self.result_count and not self.capped:
            self.sum = self._add_up()
        if self.query and not self.result_count:
            self.ask_url = self._ask_url(request)

    def _add_up(self) -> ListedSum | None:
        """Return the sums; None if there is nothing to add, or a sum is too large for SQLite."""
        # No index has the order of what a search finds.
        rows: Any = self.queryset.order_by() if self.query else self.queryset
        known = list(conf.exponents)
        try:
            sums: Sums = add_up(rows, known, most=self.result_count)
        except DatabaseError as error:
            name = type(error).__name__
            logger.warning("totals.unavailable: %s", name, extra={"error": name})
            return None
        if not sums.amounts:
            return None
        modes = {mode for mode, _code in sums.amounts}
        is_plain = len(modes) == 1 and modes == {_own_mode()}
        amounts = [
            (money(amount, code), "" if is_plain else mode_name(mode))
            for (mode, code), amount in sums.amounts.items()
        ]
        return ListedSum(amounts, sums.counted == self.result_count, sums.left_out)

    def _ask_url(self, request: HttpRequest) -> str:
        """Return where the service is asked about the searched text; "" if it cannot be asked."""
        text = clean_pasted(self.query)
        if not keys_of(text) or not request.user.has_perm(permissions.VERIFY):
            return ""
        url = reverse_admin(
            self.model_admin.admin_site.name, "payments_pages_transaction_verify_reference"
        )
        return f"{url}?{urlencode({'reference': text})}"


def _own_mode() -> str:
    """Return this site's mode; "" if the settings do not say it: the list is shown all the same."""
    try:
        return str(conf.mode)
    except ConfigurationError:
        return ""
