"""JSON of the service as every database can store it, without the reusable card code.

A value that a column cannot hold must never lose a payment (docs/cases.md C37, C44, C45). So nothing here
raises: a value that does not fit becomes text.
"""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from payments_pages.money import MAX_AMOUNT
from payments_pages.redaction import REMOVED

__all__ = [
    "MAX_DEPTH",
    "MIN_INTEGER",
    "clean_text",
    "integer_of",
    "json_text",
    "scrub",
    "storable",
]

MAX_DEPTH: Final = 20
"""Levels of JSON kept as JSON: MariaDB takes no more than 32."""

MIN_INTEGER: Final = -MAX_AMOUNT - 1
MAX_KEY: Final = 1_000
# PostgreSQL refuses NUL in text and JSON; no driver can encode half a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# A shorter text has no room for the key of a code, in JSON or out of it.
_SHORTEST: Final = len("authorizationcode")
# In text that is not JSON: the key, whatever quotes and signs follow, and the value.
_CODE_IN_TEXT = re.compile(
    r"(authorization[_-]?code[\"'\\\s:=]+)(?!\[removed\])[^\"'\\\s,;&})\]]+", re.IGNORECASE
)


def clean_text(text: str, replacement: str = "") -> str:
    """Remove NUL and lone surrogates from `text`: not every database stores them."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(replacement, text)


def json_text(value: Any) -> str:
    """Write any JSON value as text, for keeping; never raises."""
    try:
        return clean_text(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, TypeError, RecursionError):
        return f"[{type(value).__name__} that cannot be written]"


def storable(value: Any, codes: Iterable[str] = ()) -> Any:
    """Copy a JSON value so that every database stores it and gives it back unchanged.

    NUL and lone surrogates leave the texts, whole numbers beyond 64 bits and decimals that no
    float holds become text, what is nested deeper than `MAX_DEPTH` becomes its JSON text. The
    reusable card code (`authorization_code`) is left out at every depth, inside JSON texts as
    well; `codes` are such codes known from elsewhere, taken out of every text.
    """
    known = tuple(codes)
    copy = _walk(value, known)
    return _flatten_depths(copy)


def _walk(value: Any, codes: tuple[str, ...]) -> Any:
    """Copy without recursion: a service may nest deeper than Python's stack."""
    root: list[Any] = [None]
    stack: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while stack:
        source, target, place = stack.pop()
        if isinstance(source, str):
            target[place] = scrub(clean_text(source), codes)
        elif isinstance(source, Mapping):
            branch: dict[str, Any] = {}
            for key, item in source.items():
                name = clean_text(str(key))
                if not _names_code(name):
                    name = scrub(name, codes)[:MAX_KEY]
                    branch[name] = None
                    stack.append((item, branch, name))
            target[place] = branch
        elif isinstance(source, list | tuple):
            row: list[Any] = [None] * len(source)
            stack.extend((item, row, index) for index, item in enumerate(source))
            target[place] = row
        else:
            target[place] = _scalar(source)
    return root[0]


def _flatten_depths(value: Any) -> Any:
    """Turn what lies deeper than `MAX_DEPTH` into its JSON text, in place."""
    level = [value]
    for _depth in range(MAX_DEPTH - 1):
        level = [item for box in level for item in _items(box) if isinstance(item, dict | list)]
        if not level:
            return value
    for box in level:
        places = list(box) if isinstance(box, dict) else range(len(box))
        for place in places:
            if isinstance(box[place], dict | list):
                box[place] = json_text(box[place])
    return value


def _items(box: Any) -> Iterable[Any]:
    if isinstance(box, dict):
        return box.values()
    return box if isinstance(box, list) else ()


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if MIN_INTEGER <= value <= MAX_AMOUNT else _digits(value)
    if isinstance(value, float | Decimal):
        return _storable_decimal(
            Decimal(value) if isinstance(value, Decimal) else Decimal(repr(value))
        )
    return clean_text(str(value))


def _storable_decimal(value: Decimal) -> int | float | str:
    whole = integer_of(value)
    if whole is not None:
        return whole if MIN_INTEGER <= whole <= MAX_AMOUNT else str(value)
    if value.is_finite() and -300 < value.adjusted() < 18 and Decimal(repr(float(value))) == value:
        return float(value)
    return str(value)


def integer_of(value: Decimal) -> int | None:
    """Return the integer that a Decimal equals, or None; check its exponent before `int()` writes it out."""
    if not value.is_finite() or value.adjusted() > 20 or value != value.to_integral_value():
        return None
    return int(value)


def _digits(value: int) -> str:
    # Python refuses to spell more than 4,300 decimal digits; hexadecimal has no limit.
    return str(value) if value.bit_length() < 10_000 else f"{value:#x}"


def _names_code(key: str) -> bool:
    return (
        len(key) >= _SHORTEST
        and key.replace("_", "").replace("-", "").lower() == "authorizationcode"
    )


def scrub(text: str, codes: tuple[str, ...]) -> str:
    """Remove the reusable card code from a text, and from JSON inside the text."""
    for code in codes:
        if code in text:
            text = text.replace(code, REMOVED)
    if len(text) < _SHORTEST:
        return text
    if text[:1] in '{["' or text[:64].lstrip()[:1] in '{["':
        inner = _decoded(text)
        if inner is not None:
            # Only a text that holds a code is rewritten: all others are kept letter for letter.
            return json_text(_walk(inner, codes)) if _holds_code(inner) else text
    return _CODE_IN_TEXT.sub(rf"\1{REMOVED}", text)


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list | str) and value else None


def _holds_code(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if scrub(item, ()) != item:
                return True
        elif isinstance(item, dict):
            if any(_names_code(key) for key in item):
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False
