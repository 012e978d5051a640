"""A browser without scripts, in the hands of staff or of a payer."""

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import requests

from example_project.demo.visitor import Visitor

__all__ = ["Browser", "Page", "words_of"]


class Browser(Visitor):
    """A visitor who asks for a language; redirects are followed only where the story says so."""

    def __init__(self, language: str = "") -> None:
        super().__init__()
        self._session.headers["Accept-Language"] = language or "*"

    def post(self, url: str, **how: Any) -> requests.Response:
        """Send a body that no form made."""
        return self._session.post(url, allow_redirects=False, timeout=30, **how)

    def press(
        self, page: requests.Response, values: dict[str, str], button: tuple[str, str] | None = None
    ) -> requests.Response:
        """Send a form of the page, and go where its answer leads."""
        answer = self.submit(page, values, button)
        if answer.is_redirect:
            return self.get(urljoin(answer.url, answer.headers["Location"]))
        return answer


class Page(HTMLParser):
    """What a page holds that a policy may forbid, and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.inline: list[str] = []
        self.nonces: list[str] = []
        self.language = ""
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "html":
            self.language = given.get("lang", "")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "form" and given.get("action"):
            self.links.append(given["action"])
        if tag in {"script", "img"} and "src" in given:
            self.sources.append(given["src"])
        if tag == "link" and given.get("rel") in {"stylesheet", "icon"}:
            self.sources.append(given["href"])
        if given.get("nonce"):
            self.nonces.append(given["nonce"])
        self.inline += [f"{tag} {name}" for name in given if name == "style" or name[:2] == "on"]
        scripted = tag == "script" and "src" not in given
        if (
            scripted
            and given.get("type", "text/javascript") == "text/javascript"
            and not given.get("nonce")
        ):
            self.inline.append(tag)
        if tag == "style" and not given.get("nonce"):
            self.inline.append(tag)


def words_of(page: requests.Response) -> str:
    """The heading of a page."""
    found = re.search(r"<h1>(.*?)</h1>", page.text, re.DOTALL)
    assert found, f"{page.url} ({page.status_code}) has no heading: {page.text[:2000]}"
    return found[1].replace("&nbsp;", " ").strip()
