"""Do over HTTP what a person does with a browser: read forms, fill them in, send them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Self
from urllib.parse import urljoin

import requests

__all__ = ["Form", "Visitor", "read_forms"]

_TIMEOUT = 30


@dataclass(slots=True)
class Form:
    """Hold one form of a page: where it goes, what it would send, its buttons."""

    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def filled(
        self, values: dict[str, str], button: tuple[str, str] | None
    ) -> list[tuple[str, str]]:
        """Return the pairs to send: the form's own, with `values` in their place, and a button.

        Raise `LookupError` for a field or button that the form does not have: a person could
        not have filled it in.
        """
        missing = values.keys() - self.names
        if missing or (button is not None and button not in self.buttons):
            raise LookupError(
                f"The form has no {sorted(missing) or button}; it has {sorted(self.names)} "
                f"and the buttons {self.buttons}."
            )
        kept = [(name, value) for name, value in self.fields if name not in values]
        return [*kept, *values.items(), *([button] if button else [])]


class Visitor:
    """Be one browser: cookies, forms, and no redirect followed unless asked."""

    def __init__(self) -> None:
        self._session = requests.Session()
        # A .netrc or proxy of this machine's user has no part in this.
        self._session.trust_env = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._session.close()

    def get(self, url: str, *, follow: bool = True) -> requests.Response:
        """Open an address."""
        return self._session.get(url, allow_redirects=follow, timeout=_TIMEOUT)

    def submit(
        self,
        page: requests.Response,
        values: dict[str, str],
        button: tuple[str, str] | None = None,
    ) -> requests.Response:
        """Send the first form of `page` that has all the fields; do not follow the redirect."""
        forms = read_forms(page.text)
        form = next((form for form in forms if values.keys() <= form.names), None)
        if form is None:
            raise LookupError(f"{page.url} ({page.status_code}) has no form with {list(values)}.")
        return self._session.request(
            form.method,
            urljoin(page.url, form.action),
            data=form.filled(values, button),
            headers={"Referer": page.url},
            allow_redirects=False,
            timeout=_TIMEOUT,
        )


def read_forms(html: str) -> list[Form]:
    """Return the forms of a page, with what each would send if nothing were typed."""
    reader = _FormReader()
    reader.feed(html)
    reader.close()
    return reader.forms


class _FormReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._textarea: str | None = None
        self._select: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag == "form":
            self._form = Form(values.get("action", ""), values.get("method", "get").upper())
            self.forms.append(self._form)
        elif self._form is not None and "disabled" not in values:
            self._control(self._form, tag, values)

    def handle_data(self, data: str) -> None:
        if self._textarea is not None:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea" and self._form is not None and self._textarea is not None:
            # A browser drops one line break right after the tag.
            self._form.fields.append((self._textarea, self._text.removeprefix("\n")))
            self._textarea = None

    def _control(self, form: Form, tag: str, values: dict[str, str]) -> None:
        name = values.get("name", "")
        kind = values.get("type", "submit" if tag == "button" else "text").lower()
        if tag == "option" and self._select and "selected" in values:
            form.fields.append((self._select, values.get("value", "")))
        if not name:
            return
        if tag == "button" or (tag == "input" and kind == "submit"):
            form.buttons.append((name, values.get("value", "")))
        elif tag == "textarea":
            form.names.add(name)
            self._textarea, self._text = name, ""
        elif tag == "select":
            form.names.add(name)
            self._select = name
        elif tag == "input":
            form.names.add(name)
            if kind not in {"checkbox", "radio"} or "checked" in values:
                form.fields.append((name, values.get("value", "on" if kind == "checkbox" else "")))
