"""What payers typed into a page's questions, read from a payment's metadata.

The interface shows neither a question nor an answer. Only seen (docs/service.md): metadata has a
list `custom_fields` of `{"display_name", "variable_name", "value"}`. Metadata may come from the
payer's browser, so every other shape is read as far as it goes, and nothing here raises.
"""

import json
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from payments_pages.client.payloads import clean_text, json_text, storable
from payments_pages.client.resources import read_metadata

__all__ = ["MAX_ANSWERS", "read_answers", "read_questions"]

MAX_ANSWERS: Final = 200
"""Most answers that are read of one payment. The metadata itself is kept whole (our decision)."""

_LONGEST_LABEL: Final = 255
_LONGEST_VALUE: Final = 2_000
# What sites and services put into metadata for themselves: no payer typed it.
_PLUMBING: Final = frozenset(
    {"cancel_action", "custom_fields", "custom_filters", "page_id", "page_slug", "referrer", "slug"}
)
_OURS: Final = "payments_pages_"
_LOOKS_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")


class _Given(NamedTuple):
    """One answer as it came."""

    label: str
    name: str
    value: Any


def read_answers(metadata: Any, questions: Any = None) -> dict[str, str]:
    """Return a payment's answers by label, in the order in which they came.

    - `metadata`: of any shape; also JSON text, or a `custom_fields` that is a dict or JSON text.
    - `questions`: the page's `custom_fields`. They label an answer that came without a label.
      Without them the label is its `variable_name`, or its place in the list, such as `#3`.
    - Two answers with one label: the second is `Name (2)`.
    - A value that is no text is written as JSON; null is `""`. A label is cut at 255 characters,
      a value at 2,000.
    - At most `MAX_ANSWERS` are read.
    """
    labels = _labels_of(questions)
    answers: dict[str, str] = {}
    counts: dict[str, int] = {}
    given = islice(_given(read_metadata(metadata), labels), MAX_ANSWERS)
    for number, item in enumerate(given, start=1):
        label = item.label or labels.get(item.name, "") or item.name or f"#{number}"
        answers[_free(label, answers, counts)] = _text(item.value)
    return answers


def read_questions(questions: Any) -> tuple[str, ...]:
    """Return the labels of a page's questions, in their order, as `read_answers` writes them.

    `questions` is the page's `custom_fields`, of any shape.
    """
    elements = _opened(questions)
    asked = (
        [item for item in elements if isinstance(item, dict)] if isinstance(elements, list) else []
    )
    return tuple(read_answers({"custom_fields": [{**item, "value": ""} for item in asked]}, asked))


def _given(metadata: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[_Given]:
    """Yield the answers in `custom_fields`, then those that stand in the metadata by their name."""
    named = set()
    for element in _elements(metadata.get("custom_fields")):
        item = _opened(element)
        if not isinstance(item, dict) or "value" not in item:
            continue
        name = _label(item.get("variable_name"))
        named.add(name)
        # A page may ask "Who is your referrer?": then it is a question like any other.
        if name.startswith(_OURS) or (name in _PLUMBING and name not in labels):
            continue
        yield _Given(_label(item.get("display_name")), name, item["value"])
    for name in labels:
        if name in metadata and name not in named | _PLUMBING and not name.startswith(_OURS):
            yield _Given("", name, metadata[name])


def _elements(value: Any) -> Iterator[Any]:
    """Yield the elements of `custom_fields`: a list, one element alone, or a dict by name."""
    value = _opened(value)
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        if "value" in value and {"display_name", "variable_name"} & value.keys():
            yield value
            return
        for name, item in value.items():
            is_element = isinstance(item, dict) and "value" in item
            yield {"variable_name": name, **(item if is_element else {"value": item})}


def _labels_of(questions: Any) -> dict[str, str]:
    """Return what a page's questions say, by their names in the records."""
    elements = _opened(questions)
    labels: dict[str, str] = {}
    for item in elements[:MAX_ANSWERS] if isinstance(elements, list) else ():
        if isinstance(item, dict) and (name := _label(item.get("variable_name"))):
            labels.setdefault(name, _label(item.get("display_name")) or name)
    return labels


def _opened(value: Any) -> Any:
    """Decode JSON text, twice at most; any other text stays as it is."""
    opened = value
    for _encoding in range(2):
        if not isinstance(opened, str):
            break
        try:
            opened = json.loads(opened)
        except (ValueError, RecursionError):
            return value
    return storable(opened) if isinstance(opened, dict | list) else value


def _label(value: Any) -> str:
    """Return a label or name on one line; `""` if there is none that can be seen."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    words = " ".join(clean_text(str(value).strip()[: 2 * _LONGEST_LABEL]).split())
    return _cut(words, _LONGEST_LABEL) if any(map(_is_seen, words)) else ""


def _is_seen(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ" and character not in _LOOKS_BLANK


def _text(value: Any) -> str:
    if value is None:
        return ""
    return _cut(clean_text(value) if isinstance(value, str) else json_text(value), _LONGEST_VALUE)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _free(label: str, answers: Mapping[str, str], counts: dict[str, int]) -> str:
    """Return the label, with a number after it if another answer has it."""
    free = label
    while free in answers:
        counts[label] = counts.get(label, 1) + 1
        free = f"{label} ({counts[label]})"
    return free
