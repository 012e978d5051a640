"""Write transactions as CSV, any number of them in constant memory.

Rows are read in short queries of `CHUNK` rows, each beginning where the last one ended, newest
first: no cursor, no transaction and no snapshot stays open for as long as somebody downloads, and
MariaDB's driver, which would fetch a whole result at once, holds one chunk. A payment that comes
during the export is not in it; one that changes meanwhile is there once, before or after.
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
"""What stands in the last row of an export that broke off."""

CUSTOMER_COLUMNS: Final = ("customer_email", "customer_name", "customer_phone", "ip_address")
COLUMNS: Final = (
    "reference", "status", "fulfilment", "reason", "amount_minor", "amount", "currency",
    "fees_minor", "fees", "channel", "mode", "page_slug", "page_name", "paid_at", "created_at",
    "verified_at", "delivered_at", *CUSTOMER_COLUMNS,
)  # fmt: skip
"""The header: names that no language and no version changes, so that a program can rely on them.

Nothing of the card is exported, and no metadata, which may hold anything a payer typed.
"""

_READ = (
    "pk", "reference", "status", "fulfilment__state", "fulfilment__reason", "amount", "currency",
    "fees", "channel", "domain", "page__slug", "page__name", "paid_at", "created_at",
    "verified_at", "fulfilment__delivered_at", "customer_email", "customer", "ip_address",
)  # fmt: skip

# What spreadsheets take for the beginning of a formula, also behind blanks and marks that do not
# show, and where a spreadsheet that splits at semicolons or lines would begin a cell.
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

    `amount_minor` and `fees_minor` are integers; `amount` and `fees` the same in major units,
    empty where the currency's decimals are not known. Times are ISO 8601 in the project's zone.
    Without `customers_shown` the `CUSTOMER_COLUMNS` are masked. Breaks off with a row that says
    `INCOMPLETE` and then raises what happened: neither a person nor a program must take a part
    for the whole.
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
        # No traceback here: it goes on to the server, and a database's words may quote a payer's.
        name = type(error).__name__
        logger.error("export.broke_off: %s", name, extra={"error": name})  # noqa: TRY400
        lines.take()
        lines.write([INCOMPLETE])
        yield lines.take()
        raise


def neutralise(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula (docs/cases.md C51)."""
    return _CONTROL_FIRST.sub("'", _FORMULA.sub(r"\1'\2", text))


class _Lines:
    """Collect lines and give them away as bytes."""

    def __init__(self) -> None:
        self._text = io.StringIO(newline="")
        self.write = csv.writer(self._text).writerow

    def take(self) -> bytes:
        """Return what was written since the last time."""
        taken = self._text.getvalue().encode()
        self._text.seek(0)
        self._text.truncate()
        return taken


def _chunks(transactions: QuerySet[Transaction]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows from the newest to the oldest; each query goes on below the last one's."""
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
        # Figures are ours, and a spreadsheet must be able to add them up: -5 stays a number.
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
    """Read a text of the kept JSON, which may be anything at all; a phone may be a number."""
    value = customer.get(key) if isinstance(customer, Mapping) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
