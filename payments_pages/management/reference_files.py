"""References from a file: one on each line, or the table that the service exports.

A table decides nothing about a payment: only its references are read, and the service is asked.
Rows with the status failed or abandoned are left out, to save calls.
"""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.core.management.base import CommandError

from payments_pages.exceptions import InvalidReference
from payments_pages.marks import clean_pasted
from payments_pages.references import check_reference

__all__ = ["ReferenceFile", "read_references"]

_DELIMITERS = (",", ";", "\t", "|")
_STATUS = frozenset({"status", "transaction status", "payment status"})
_UNPAID = frozenset({"abandoned", "failed"})


@dataclass(slots=True)
class ReferenceFile:
    """The references of a file, each once and in their order.

    `unreadable` names the rows that cannot be read; `left_out` counts the other rows left out, by
    reason.
    """

    references: dict[str, None] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def read_references(name: str, column: str | None) -> ReferenceFile:
    """Read a file, or standard input for `-`; raise `CommandError` if that is not possible.

    Without `column` each line is a reference. With it the file is a table whose first row names
    its columns; cells are divided by commas, semicolons, tabs or bars.
    """
    text = _text_of(name)
    if column is None:
        lines = [line for pasted in text.splitlines() if (line := clean_pasted(pasted))]
        _refuse_table(name, lines)
        return ReferenceFile(references=dict.fromkeys(lines))
    if "\0" in text:
        raise CommandError(f"{name} {_NOT_UTF8}")
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=_delimiter(text, column), strict=True
    )
    try:
        return _read_table(rows, name, column)
    except csv.Error as error:
        # With a quotation mark that is never closed, all rows after it would be one cell.
        raise CommandError(f"{name} cannot be read: line {rows.line_num}: {error}.") from error


def _text_of(name: str) -> str:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} {_NOT_UTF8}") from error
    text = text.removeprefix("\ufeff")
    first, _end, rest = text.partition("\n")
    # Spreadsheets write this before the heading.
    return rest if first.strip('" \r').casefold().startswith("sep=") else text


_NOT_UTF8 = "cannot be read: it is not UTF-8. Save it as “CSV UTF-8”, or convert it with iconv."


def _refuse_table(name: str, lines: list[str]) -> None:
    """Refuse a table whose column was not named, before each of its lines is called invalid."""
    if not lines or not any(delimiter in lines[0] for delimiter in _DELIMITERS):
        return
    try:
        check_reference(lines[0])
    except InvalidReference as error:
        there = _names(_heading(lines[0], _delimiter(lines[0], "")))
        raise CommandError(
            f"{name} is a table. Say with --column which column holds the references: {there}."
        ) from error


def _heading(text: str, delimiter: str) -> list[str]:
    row: list[str] = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    return [clean_pasted(cell) for cell in row]


def _names(heading: list[str]) -> str:
    return ", ".join(map(repr, heading))


def _delimiter(text: str, column: str) -> str:
    """Find what divides the cells: what makes the column one of the heading, and most cells of it."""

    def fitness(delimiter: str) -> tuple[bool, int]:
        heading = _heading(text, delimiter)
        return bool(_places(heading, column)), len(heading)

    return max(_DELIMITERS, key=fitness)


def _places(heading: list[str], column: str) -> list[int]:
    """Return where a column stands; small and capital letters differ only where both are there."""
    column = clean_pasted(column)
    exact = [place for place, cell in enumerate(heading) if cell == column]
    wanted = column.casefold()
    return exact or [place for place, cell in enumerate(heading) if cell.casefold() == wanted]


def _read_table(rows: Iterator[list[str]], name: str, column: str) -> ReferenceFile:
    heading = [clean_pasted(cell) for cell in next(rows, [])]
    places = _places(heading, column)
    if not places:
        there = f"it has {_names(heading)}" if heading else "it is empty"
        raise CommandError(f"{name} has no column {column!r}: {there}.")
    if len(places) > 1:
        raise CommandError(f"{name} has {len(places)} columns {column!r}.")
    words = [cell.casefold().replace("_", " ") for cell in heading]
    status = next((place for place, cell in enumerate(words) if cell in _STATUS), None)
    found = ReferenceFile()
    for row in rows:
        if not row:
            continue
        if any(clean_pasted(cell) for cell in row[len(heading) :]):
            # A delimiter inside a cell has moved those after it.
            found.unreadable.append(f"line {rows.line_num}")  # type: ignore[attr-defined]  # csv's
            continue
        _take(found, _cell(row, places[0]), "" if status is None else _cell(row, status))
    return found


def _take(found: ReferenceFile, reference: str, status: str) -> None:
    if not reference:
        found.left_out["without a reference"] += 1
    elif status.casefold() in _UNPAID:
        found.left_out[status.casefold()] += 1
    elif reference in found.references:
        found.left_out["repeated"] += 1
    else:
        found.references[reference] = None


def _cell(row: list[str], place: int) -> str:
    """Return a cell without what keeps spreadsheets from taking it for a number or a formula."""
    cell = clean_pasted(row[place]) if place < len(row) else ""
    if cell.startswith('="') and cell.endswith('"'):
        cell = cell[2:-1]
    return cell.removeprefix("'").strip()
