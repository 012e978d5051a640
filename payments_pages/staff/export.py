"""Write transactions as CSV, any number of them in constant memory.

Rows are read in short queries of `CHUNK` rows, newest first, each starting where the last one
ended: no cursor, transaction or snapshot stays open during the download, and MariaDB's driver,
which fetches a whole result at once, holds one chunk. A payment that arrives during the export is
not in it; one that changes meanwhile is in it once, as it was before or after the change.
"""

import csv
import datetime as dt
import io
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.db.models import QuerySet
from django.utils import timezone

from payments_pages.conf import conf
from payments_pages.models import Transaction
from payments_pages.money import major_text
from payments_pages.staff.masking import mask_email, mask_name, mask_phone, mask_whole

__all__ = ["CHUNK", "COLUMNS", "CUSTOMER_COLUMNS", "INCOMPLETE", "neutralise", "write_csv"]

logger = logging.getLogger("payments_pages.export")

CHUNK: Final = 2000
INCOMPLETE: Final = "EXPORT INCOMPLETE"
"""The last row of an export that failed."""

CUSTOMER_COLUMNS: Final = ("customer_email", "customer_name", "customer_phone", "ip_address")
COLUMNS: Final = (
    "reference", "status", "fulfilment", "reason", "amount_minor", "amount", "currency",
    "fees_minor", "fees", "channel", "mode", "page_slug", "page_name", "paid_at", "created_at",
    "verified_at", "delivered_at", *CUSTOMER_COLUMNS,
)  # fmt: skip
"""The header. The names are the same in every language and version: programs can rely on them.

No card data is exported, and no metadata, which may contain anything that a payer typed.
"""

_READ = (
    "pk", "reference", "status", "fulfilment__state", "fulfilment__reason", "amount", "currency",
    "fees", "channel", "domain", "page__slug", "page__name", "paid_at", "created_at",
    "verified_at", "fulfilment__delivered_at", "customer_email", "customer", "ip_address",
)  # fmt: skip

# The characters that start a formula in a spreadsheet, also after blanks and invisible marks, and
# at each place where a spreadsheet that splits at semicolons or line ends would start a cell.
_FORMULA = re.compile(
    "(^|[;\t\r\n])"
    "([ \u00a0\u00ad\u061c\u180e\u2000-\u200f\u2028-\u202e\u202f\u205f-\u206f\u3000\ufeff\"']*)"
    "(?=[=+\\-@\uff1d\uff0b\uff0d\uff20])"
)
_CONTROL_FIRST = re.compile("^(?=[\t\r\n])")


def write_csv(
    transactions: QuerySet[Transaction], *, customers_shown: bool = False
) -> Iterator[bytes]:
    """Yield a CSV file of `COLUMNS`: UTF-8 with a byte order mark, CRLF, a chunk at a time.

    - `amount_minor`, `fees_minor`: integers of minor units.
    - `amount`, `fees`: the same in major units; empty if the currency's decimals are not known.
    - Times: ISO 8601 in the project's time zone.
    - `CUSTOMER_COLUMNS`: masked without `customers_shown`.

    After an error the last row says `INCOMPLETE`, and the error is raised: neither a person nor a
    program must mistake a part for the whole.
    """
    lines = _Lines()
    lines.write(COLUMNS)
    yield b"\xef\xbb\xbf" + lines.take()
    exponents = conf.exponents
    try:
        for chunk in _chunks(transactions):
            for row in chunk:
                lines.write(_cells(row, exponents, customers_shown=customers_shown))
            yield lines.take()
    except Exception as error:
        # Without the traceback: a database's message may quote a payer. The server logs the error.
        name = type(error).__name__
        logger.error("export.broke_off: %s", name, extra={"error": name})  # noqa: TRY400
        lines.take()
        lines.write([INCOMPLETE])
        yield lines.take()
        raise


def neutralise(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    return _CONTROL_FIRST.sub("'", _FORMULA.sub(r"\1'\2", text))


class _Lines:
    """A buffer of CSV lines, taken as bytes."""

    def __init__(self) -> None:
        self._text = io.StringIO(newline="")
        self.write = csv.writer(self._text).writerow

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        taken = self._text.getvalue().encode()
        self._text.seek(0)
        self._text.truncate()
        return taken


def _chunks(transactions: QuerySet[Transaction]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows from the newest to the oldest; each query continues after the last row."""
    ordered = transactions.order_by("-pk").values_list(*_READ)
    rest = ordered
    while chunk := list(rest[:CHUNK]):
        yield chunk
        if len(chunk) < CHUNK:
            return
        rest = ordered.filter(pk__lt=chunk[-1][0])


def _cells(
    row: tuple[Any, ...], exponents: Mapping[str, int], *, customers_shown: bool
) -> list[object]:
    (
        _pk, reference, status, state, reason, amount, currency, fees, channel, domain, slug, name,
        paid_at, created_at, verified_at, delivered_at, email, customer, ip_address,
    ) = row  # fmt: skip
    payer = [email, _full_name(customer), _text_of(customer, "phone"), ip_address]
    if not customers_shown:
        masks = (mask_email, mask_name, mask_phone, mask_whole)
        payer = [mask(text) for mask, text in zip(masks, payer, strict=True)]
    exponent = exponents.get(currency.upper())
    return [
        neutralise(reference),
        neutralise(status),
        state or "",
        reason or "",
        # Not neutralised: these are our integers, which a spreadsheet must be able to sum, also -5.
        "" if amount is None else amount,
        _major(amount, exponent),
        neutralise(currency),
        "" if fees is None else fees,
        _major(fees, exponent),
        neutralise(channel),
        neutralise(domain),
        neutralise(slug or ""),
        neutralise(name or ""),
        _iso(paid_at),
        _iso(created_at),
        _iso(verified_at),
        _iso(delivered_at),
        *map(neutralise, payer),
    ]


def _major(amount: int | None, exponent: int | None) -> str:
    return "" if amount is None or exponent is None else major_text(amount, exponent)


def _iso(moment: dt.datetime | None) -> str:
    if moment is None:
        return ""
    return timezone.localtime(moment, timezone.get_default_timezone()).isoformat(timespec="seconds")


def _full_name(customer: Any) -> str:
    names = (_text_of(customer, "first_name"), _text_of(customer, "last_name"))
    return " ".join(filter(None, names))


def _text_of(customer: Any, key: str) -> str:
    """Return a text of the stored JSON, which may have any shape; a phone may be a number."""
    value = customer.get(key) if isinstance(customer, Mapping) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
