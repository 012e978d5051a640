"""Write payments as CSV, any number of them in constant memory."""

import csv
import datetime as dt
import io
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from django.db.models import QuerySet

from payments_pages.models import PaymentPage, Transaction
from payments_pages.staff.export.payments import Kind, Payments

__all__ = ["INCOMPLETE", "neutralise", "write_csv"]

logger = logging.getLogger("payments_pages.export")

INCOMPLETE: Final = "EXPORT INCOMPLETE"
"""The last row of an export that failed."""

# The characters that start a formula in a spreadsheet, also after blanks and invisible marks, and
# at each place where a spreadsheet that splits at semicolons or line ends would start a cell.
_FORMULA = re.compile(
    "(^|[;\t\r\n])"
    "([ \u00a0\u00ad\u061c\u180e\u2000-\u200f\u2028-\u202e\u202f\u205f-\u206f\u3000\ufeff\"']*)"
    "(?=[=+\\-@\uff1d\uff0b\uff0d\uff20])"
)
_CONTROL_FIRST = re.compile("^(?=[\t\r\n])")
# What spreadsheets read as a number, a date or a time: 0599 loses its zero, a number of sixteen
# digits its last one, 12E34 becomes a one with many zeros, and 1-2 a day.
_FIGURE = re.compile(r"\s*\d[\d.,:/eE+\- ]*", re.ASCII)


def write_csv(
    transactions: QuerySet[Transaction],
    *,
    customers_shown: bool = False,
    page: PaymentPage | None = None,
) -> Iterator[bytes]:
    """Return the pieces of a CSV file: UTF-8 with a byte order mark, CRLF, a chunk of rows each.

    `payments.COLUMNS` are its first columns; `payments.Payments` says what `customers_shown` and
    `page` do.

    - `amount_minor`, `fees_minor`, `net_minor`: integers of minor units.
    - `amount`, `fees`, `net`: the same in major units; empty if the currency's decimals are not
      known.
    - Times: ISO 8601. `paid_on` and `paid_time` are the parts of `paid_at` that spreadsheets read.
    - `answers`: a JSON object of texts by label; empty if there are none.

    After an error the last row says `INCOMPLETE`, and the error is raised: neither a person nor a
    program must mistake a part for the whole.
    """
    return _pieces(Payments(transactions, customers_shown=customers_shown, page=page))


def _pieces(payments: Payments) -> Iterator[bytes]:
    lines = _Lines()
    columns = payments.columns
    lines.write([neutralise(name) for name in columns])
    yield b"\xef\xbb\xbf" + lines.take()
    texts = [_TEXTS[kind] for kind in columns.values()]
    try:
        for chunk in payments.chunks():
            for row in chunk:
                lines.write(
                    "" if value is None else text_of(value)
                    for text_of, value in zip(texts, row, strict=True)
                )
            yield lines.take()
    except Exception as error:
        # Without the traceback: a database's message may quote a payer. The server logs the error.
        name = type(error).__name__
        logger.error("export.broke_off: %s", name, extra={"error": name})  # noqa: TRY400
        lines.take()
        lines.write([INCOMPLETE])
        yield lines.take()
        raise


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


def neutralise(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    return _CONTROL_FIRST.sub("'", _FORMULA.sub(r"\1'\2", text))


def _kept(text: str) -> str:
    """Neutralise a text; keep it from becoming a number or a date, too."""
    return f"'{text}" if _FIGURE.fullmatch(text) else neutralise(text)


def _iso(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _json_of(answers: Mapping[str, str] | str) -> str:
    """Write answers as JSON, each text neutralised.

    So the cell is, too: JSON puts no formula between the texts, and escapes line ends and tabs.
    """
    if isinstance(answers, str):
        return answers
    safe = {neutralise(label): neutralise(answer) for label, answer in answers.items()}
    return json.dumps(safe, ensure_ascii=False)


_TEXTS: Final[Mapping[Kind, Callable[[Any], str]]] = {
    Kind.WORD: neutralise,
    Kind.CODE: _kept,
    # Not neutralised: these are our figures, which a spreadsheet must be able to sum, also -5.
    Kind.MINOR: str,
    Kind.MAJOR: str,
    Kind.DAY: str,
    Kind.TIME: str,
    Kind.MOMENT: _iso,
    Kind.ANSWERS: _json_of,
}
