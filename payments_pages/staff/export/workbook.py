"""Write payments as a workbook for Excel, if the extra `[xlsx]` (XlsxWriter) is installed."""

import datetime as dt
import json
import logging
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from importlib.util import find_spec
from typing import IO, Any, Final

from django.db.models import QuerySet
from django.utils.translation import get_language_bidi

from payments_pages.models import PaymentPage, Transaction
from payments_pages.staff.export.payments import Kind, Payments, Value

__all__ = ["ROWS", "can_write_workbook", "write_workbook"]

logger = logging.getLogger("payments_pages.export")

LIBRARY: Final = "xlsxwriter"
ROWS: Final = 1_048_575
"""Payments on one sheet: a sheet has a row more, for the names of the columns."""
DIGITS: Final = 15
"""Digits of a number that Excel keeps. A longer one is written as text."""
FIRST_YEAR: Final = 1901
"""Excel knows no date before 1900, and counts a day too many in that year."""
LONGEST: Final = 32_767
"""Characters of a cell, as UTF-16 counts them."""

_WIDTHS: Final[Mapping[Kind, int]] = {
    Kind.WORD: 18,
    Kind.CODE: 24,
    Kind.MINOR: 14,
    Kind.MAJOR: 14,
    Kind.DAY: 12,
    Kind.TIME: 10,
    Kind.MOMENT: 20,
    Kind.ANSWERS: 40,
}
_FORMATS: Final[Mapping[Kind, str]] = {
    Kind.CODE: "@",  # text, also after somebody has edited the cell
    Kind.MINOR: "0",
    Kind.DAY: "yyyy-mm-dd",
    Kind.TIME: "hh:mm:ss",
    Kind.MOMENT: "yyyy-mm-dd hh:mm:ss",
}


def can_write_workbook() -> bool:
    """Return whether the library that writes workbooks is installed."""
    return find_spec(LIBRARY) is not None


def write_workbook(
    transactions: QuerySet[Transaction],
    *,
    customers_shown: bool = False,
    page: PaymentPage | None = None,
) -> IO[bytes]:
    """Write a workbook with the columns of `payments.COLUMNS`; return it as an open, unnamed file.

    The caller closes the file, which vanishes then. Memory does not grow with the number of rows:
    they are kept in temporary files. After `ROWS` payments another sheet begins.

    - Amounts are numbers in major units, times are those of the current time zone; Excel has no
      offsets. What does not fit (`DIGITS`, `FIRST_YEAR`) is text.
    - Every text is written as one: nothing that others wrote becomes a formula, a link or a number.
    - `customers_shown` and `page`: see `payments.Payments`.

    An error is raised before anything has been sent: there is no part of a workbook.
    """
    payments = Payments(transactions, customers_shown=customers_shown, page=page)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with tempfile.TemporaryDirectory() as scratch:
            _write(file, scratch, payments)
    except BaseException as error:
        file.close()
        # Without the traceback: a database's message may quote a payer. The server logs the error.
        name = type(error).__name__
        logger.error("export.broke_off: %s", name, extra={"error": name})  # noqa: TRY400
        raise
    file.seek(0)
    return file


def _write(file: IO[bytes], scratch: str, payments: Payments) -> None:
    import xlsxwriter  # type: ignore[import-untyped]  # noqa: PLC0415 - optional: the extra [xlsx]

    options = {"constant_memory": True, "tmpdir": scratch, "use_zip64": True}
    with xlsxwriter.Workbook(file, options) as book:
        cells = _Cells(book)
        sheet = None
        for chunk in payments.chunks():
            for row in chunk:
                if sheet is None or sheet.rows == ROWS:
                    sheet = _Sheet(book, cells, payments.columns)
                sheet.write(row)
        if sheet is None:
            _Sheet(book, cells, payments.columns)


class _Sheet:
    """A sheet that is filled row by row; its first row, which stays in sight, names the columns."""

    def __init__(self, book: Any, cells: "_Cells", columns: Mapping[str, Kind]) -> None:
        self.rows = 0
        self._sheet = book.add_worksheet()
        self._kinds = tuple(columns.values())
        self._cells = cells
        if get_language_bidi():
            self._sheet.right_to_left()
        self._sheet.freeze_panes(1, 1)
        self._sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
        for place, (name, kind) in enumerate(columns.items()):
            self._sheet.set_column(place, place, _WIDTHS[kind])
            self._sheet.write_string(0, place, _cut(name), cells.heading)

    def write(self, row: tuple[Value, ...]) -> None:
        """Write the next row."""
        self.rows += 1
        for place, (kind, value) in enumerate(zip(self._kinds, row, strict=True)):
            if value not in (None, ""):
                self._cells.write(self._sheet, self.rows, place, kind, value)


class _Cells:
    """The writer of cells: each kind of value has a type of cell and a format."""

    def __init__(self, book: Any) -> None:
        self.heading = book.add_format({"bold": True})
        self._formats = {
            kind: book.add_format({"num_format": code}) for kind, code in _FORMATS.items()
        }
        self._majors: dict[int, Any] = {}
        self._book = book

    def write(self, sheet: Any, row: int, place: int, kind: Kind, value: Any) -> None:
        """Write a value into a cell; as text what Excel cannot keep as a number or a date."""
        form = self._major(value) if kind is Kind.MAJOR else self._formats.get(kind)
        if kind in _NUMBERS and _digits(value) <= DIGITS:
            sheet.write_number(row, place, value, form)
        elif kind is Kind.TIME or (kind in _DATES and value.year >= FIRST_YEAR):
            if kind is Kind.MOMENT:
                value = value.replace(tzinfo=None)
            sheet.write_datetime(row, place, value, form)
        else:
            sheet.write_string(row, place, _text(value), form)

    def _major(self, amount: Decimal) -> Any:
        """Return the format with the decimals that an amount has."""
        decimals = -int(amount.as_tuple().exponent)
        if decimals not in self._majors:
            code = "#,##0." + "0" * decimals if decimals else "#,##0"
            self._majors[decimals] = self._book.add_format({"num_format": code})
        return self._majors[decimals]


_NUMBERS: Final = frozenset({Kind.MINOR, Kind.MAJOR})
_DATES: Final = frozenset({Kind.DAY, Kind.MOMENT})


def _digits(number: int | Decimal) -> int:
    return sum(character.isdigit() for character in str(number))


def _text(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return value.isoformat(timespec="seconds")
    return _cut(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value))


def _cut(text: str) -> str:
    """Return a text of at most `LONGEST` characters; one that was longer ends with `…`."""
    if len(text) <= LONGEST // 2:
        return text
    units = text.encode("utf-16-le")
    if len(units) <= 2 * LONGEST:
        return text
    # Half of a character of two units is dropped.
    return units[: 2 * (LONGEST - 1)].decode("utf-16-le", "ignore") + "…"
