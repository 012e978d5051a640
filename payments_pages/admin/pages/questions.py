"""The questions that a page asks its payers (docs/service.md: `custom_fields`).

The interface does not describe the elements of `custom_fields`. We send `display_name` and
`variable_name`, which we have seen in the service's responses (docs/service.md, only seen).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext as _

__all__ = ["MAX_QUESTIONS", "Question", "QuestionsField", "rows_of", "show_questions"]

MAX_QUESTIONS: Final = 20
"""The most questions of one page (our decision: a payer has to answer them all)."""

MIN_ROWS: Final = 5
MAX_LENGTH: Final = 100
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


class Question(NamedTuple):
    """One row of the form: a question and its variable name; `number` counts from 1."""

    number: int
    label: str
    variable: str

    @property
    def is_blank(self) -> bool:
        """Whether both inputs are empty."""
        return not self.label and not self.variable


class QuestionsInput(forms.Widget):
    """Rows of two inputs. A script can add rows; everything works without it."""

    template_name = "admin/payments_pages/paymentpage/questions.html"
    use_fieldset = True

    class Media:
        js = (forms.Script("payments_pages/questions.js", defer=True),)

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Add the rows that were typed, and some blank rows."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        typed = [row for row in value or () if not row.is_blank]
        blank = max(MIN_ROWS - len(typed), 1)
        rows = [*typed, *(Question(0, "", "") for _row in range(blank))][:MAX_QUESTIONS]
        context["rows"] = [row._replace(number=number) for number, row in enumerate(rows, 1)]
        context["most"] = MAX_QUESTIONS
        context["longest"] = MAX_LENGTH
        return context

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[Question]:
        return list(self._rows(data, name))

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return not any(f"{name}-{number}-label" in data for number in range(1, MAX_QUESTIONS + 1))

    def id_for_label(self, id_: str) -> str:
        return ""  # each input has its own label

    def _rows(self, data: Mapping[str, Any], name: str) -> Iterator[Question]:
        for number in range(1, MAX_QUESTIONS + 1):
            label = str(data.get(f"{name}-{number}-label") or "").strip()
            variable = str(data.get(f"{name}-{number}-name") or "").strip()
            if label or variable:
                yield Question(number, label, variable)


class QuestionsField(forms.Field):
    """A page's `custom_fields`: `[{"display_name": …, "variable_name": …}]`."""

    widget = QuestionsInput

    def clean(self, value: Any) -> list[dict[str, str]]:
        """Check each row, and make a variable name for each row that has none."""
        rows: list[Question] = value or []
        errors = [message for row in rows if (message := _row_error(row))]
        chosen = [row.variable for row in rows if row.variable]
        errors += [
            _("Two questions have the name “%(name)s”.") % {"name": name}
            for name in sorted({name for name in chosen if chosen.count(name) > 1})
        ]
        if errors:
            raise ValidationError([ValidationError(message) for message in errors])
        taken = set(chosen)
        elements = []
        for row in rows:
            variable = row.variable or _make_variable(row, taken)
            taken.add(variable)
            elements.append({"display_name": row.label, "variable_name": variable})
        return elements


def rows_of(custom_fields: Any) -> list[Question]:
    """Return the rows of the form for a page's custom fields; an unknown kind of element has none."""
    elements = custom_fields if isinstance(custom_fields, list) else []
    labelled = [item for item in elements if isinstance(item, dict) and item.get("display_name")]
    return [
        Question(number, str(item["display_name"]), str(item.get("variable_name") or ""))
        for number, item in enumerate(labelled[:MAX_QUESTIONS], 1)
    ]


def show_questions(custom_fields: Any) -> SafeString:
    """Return a page's custom fields as a table; an unknown kind of element is shown as it is."""
    elements = custom_fields if isinstance(custom_fields, list) else []
    if not elements:
        return format_html("{}", _("nothing"))
    rows = format_html_join(
        "",
        '<tr><td dir="auto">{}</td><td><bdi dir="ltr">{}</bdi></td></tr>',
        (
            (item.get("display_name") or item, item.get("variable_name") or "")
            if isinstance(item, dict)
            else (item, "")
            for item in elements[:100]
        ),
    )
    return format_html(
        '<table class="pp-table"><thead><tr><th scope="col">{}</th><th scope="col">{}</th></tr>'
        "</thead><tbody>{}</tbody></table>",
        _("Question"),
        _("Name in the records"),
        rows,
    )


def _row_error(row: Question) -> str:
    """Return the error of a row, or ""."""
    if not row.label:
        return _("Question %(number)d has a name but no text.") % {"number": row.number}
    if len(row.label) > MAX_LENGTH or len(row.variable) > MAX_LENGTH:
        return _("Question %(number)d is too long.") % {"number": row.number}
    if row.variable and _VARIABLE.fullmatch(row.variable) is None:
        return _(
            "The name of question %(number)d may have Latin letters, digits and underscores, "
            "and starts with a letter."
        ) % {"number": row.number}
    return ""


def _make_variable(row: Question, taken: set[str]) -> str:
    """Return a variable name made of the row's question; it is not one of those in `taken`."""
    words = slugify(row.label).replace("-", "_")
    name = words if _VARIABLE.fullmatch(words) else f"field_{row.number}"
    candidates = (f"{name}_{count}" for count in range(2, MAX_QUESTIONS + 2))
    return name if name not in taken else next(text for text in candidates if text not in taken)
