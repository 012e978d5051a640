"""The fields of a JSON object, read with tolerance into strict types."""

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from payments_pages.client.payloads import (
    MIN_INTEGER,
    clean_text,
    integer_of,
    json_text,
    scrub,
    storable,
)
from payments_pages.money import MAX_AMOUNT

__all__ = ["FieldReader", "read_datetime", "read_integer"]

MAX_SET_ASIDE: Final = 10_000
_DIGITS = re.compile(r"\d{1,20}", re.ASCII)


def read_integer(value: Any) -> int | None:
    """Read a whole number that fits 64 bits; None for everything else.

    Taken: int, a whole float or Decimal (`10000.0`, `1e4`), text of ASCII digits. Not taken:
    booleans, `"10000.00"`, `10000.4`, `"10,000"`, NaN (docs/cases.md C41). A negative number is read; the
    policy decides about it.
    """
    kind = type(value)
    if kind is str:
        number = int(value) if _DIGITS.fullmatch(value) else None
    elif kind is int:
        number = value
    elif kind is float or kind is Decimal:
        number = integer_of(Decimal(value))
    else:
        return None
    return number if number is not None and MIN_INTEGER <= number <= MAX_AMOUNT else None


def read_datetime(value: Any) -> dt.datetime | None:
    """Read an ISO 8601 text to an aware datetime in UTC; None if it is not a date.

    The service's own samples hold impossible dates such as 30 February. A date without a zone
    is taken as UTC. Years before 1000 are outside MySQL's range.
    """
    if type(value) is not str or len(value) > 64:
        return None
    try:
        found = dt.datetime.fromisoformat(value)
        if found.tzinfo is None:
            found = found.replace(tzinfo=dt.UTC)
        found = found.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None
    return found if found.year >= 1000 else None


class FieldReader:
    """A reader of the fields of one JSON object; `unreadable` has the values that did not fit.

    `unreadable` maps a wire field to its value as text, at most `MAX_SET_ASIDE` characters.
    """

    def __init__(self, payload: Mapping[str, Any], codes: tuple[str, ...] = ()) -> None:
        self.payload = payload
        self.codes = codes
        self.unreadable: dict[str, str] = {}

    def text(self, name: str, limit: int) -> str:
        """Read free text: null and absent are `""`; too long is cut."""
        return self._text(name, limit, replacement="")

    def word(self, name: str, limit: int) -> str:
        r"""Read a text that decisions compare, such as `status`.

        Unstorable characters are replaced, not removed: `"success\0"` must not become
        `"success"`.
        """
        return self._text(name, limit, replacement="\ufffd")

    def integer(self, name: str) -> int | None:
        """Read a whole number of 64 bits (see `read_integer`); null and absent are None."""
        value = self.payload.get(name)
        number = read_integer(value)
        if number is None and value is not None:
            self.set_aside(name, value)
        return number

    def datetime(self, *names: str) -> dt.datetime | None:
        """Read the date under the first of `names` that is there at all."""
        name = next((name for name in names if name in self.payload), names[0])
        value = self.payload.get(name)
        found = read_datetime(value)
        if found is None and value not in (None, ""):
            self.set_aside(name, value)
        return found

    def mapping(self, name: str) -> dict[str, Any]:
        """Read a JSON object, storable; null and absent are `{}`."""
        value = self.payload.get(name)
        if isinstance(value, Mapping):
            copy = storable(value, self.codes)
            return copy if isinstance(copy, dict) else {}
        if value not in (None, "", []):
            self.set_aside(name, value)
        return {}

    def json(self, name: str) -> Any:
        """Read any JSON value, storable and otherwise unchanged; absent is None."""
        return storable(self.payload.get(name), self.codes)

    def set_aside(self, name: str, value: Any) -> None:
        """Keep the value of `name` as text, without card codes."""
        kept = storable(value, self.codes)
        self.unreadable[name] = (kept if isinstance(kept, str) else json_text(kept))[:MAX_SET_ASIDE]

    def _text(self, name: str, limit: int, replacement: str) -> str:
        value = self.payload.get(name)
        if value is None:
            return ""
        if type(value) is not str:
            self.set_aside(name, value)
            return ""
        text = scrub(clean_text(value, replacement), self.codes)
        if len(text) > limit:
            self.set_aside(name, value)
        return text[:limit]
