"""A person with a browser, for tests of the hosted page."""

from html.parser import HTMLParser
from typing import Any

import requests

from payments_pages.sandbox import Sandbox


class Page(HTMLParser):
    """Read a page's inputs, labels and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.labels: set[str | None] = set()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        if tag == "input":
            self.inputs[values["name"] or ""] = values
        elif tag == "label":
            self.labels.add(values.get("for"))
        elif tag == "a":
            self.links.append(values["href"] or "")

    def handle_data(self, data: str) -> None:
        self.text += data


class Payer:
    """A person with a browser that does not follow redirects by itself."""

    def __init__(self, sandbox: Sandbox, session: requests.Session) -> None:
        self.sandbox, self.session = sandbox, session

    def look(self, slug: str = "tea") -> requests.Response:
        return self.session.get(f"{self.sandbox.pay_url}/{slug}")

    def choose(self, choice: str, slug: str = "tea", **values: str) -> requests.Response:
        form = {"email": "rana@example.test", "choice": choice, **values}
        url = f"{self.sandbox.pay_url}/{slug}"
        return self.session.post(url, data=form, allow_redirects=False)


def only_transaction(sandbox: Sandbox) -> dict[str, Any]:
    (stored,) = sandbox.state.transactions()
    return stored.data
