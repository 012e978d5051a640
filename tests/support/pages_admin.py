"""Drive the pages' admin as a browser does, without its scripts."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from django.test import Client
from django.urls import reverse

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox

ADD = "/admin/payments_pages/paymentpage/add/"
LIST = "/admin/payments_pages/paymentpage/"
SYNC = f"{LIST}sync/"
SLUG = f"{LIST}slug/"


def change_url(page: PaymentPage) -> str:
    return reverse("admin:payments_pages_paymentpage_change", args=[page.pk])


def add(client: Client, **fields: str) -> Any:
    return client.post(ADD, {"name": "Tea box", "amount": "100", "slug": "tea-box", **fields})


def made(client: Client, **fields: str) -> PaymentPage:
    """A page that staff made over HTTP."""
    response = add(client, **fields)
    assert response.status_code == 302, text(response)
    return PaymentPage.objects.latest("pk")


def sent(sandbox: Sandbox, method: str) -> list[dict[str, Any]]:
    return [json.loads(call.body) for call in sandbox.requests if call.method == method]


def text(response: Any) -> str:
    shown: str = response.content.decode()
    return shown


class _Inputs(HTMLParser):
    """Collect what a browser would send of the change form."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.inside = False
        self.area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = given.get("id") == "paymentpage_form"
        if not self.inside or not (name := given.get("name")):
            return
        if tag == "textarea":
            self.area = name
            self.fields[name] = ""
        elif tag == "input" and given.get("type") == "checkbox":
            if "checked" in given:
                self.fields[name] = given.get("value", "on")
        elif tag == "input" and given.get("type") != "submit":
            self.fields[name] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.area = ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.fields[self.area] += data


def fields_of(response: Any) -> dict[str, str]:
    """What the change form in a response would send if it were saved as it is."""
    parser = _Inputs()
    parser.feed(text(response))
    fields = {name: value.strip("\n") for name, value in parser.fields.items()}
    fields.pop("csrfmiddlewaretoken", None)
    return fields


def open_form(client: Client, page: PaymentPage) -> dict[str, str]:
    return fields_of(client.get(change_url(page)))


def rows(shown: str, table: int = 0) -> Iterator[list[str]]:
    """The cells of a table, as a reader sees them."""
    parser = _Cells()
    # A whole page has a sidebar first, with tables too.
    whole = shown.lstrip().lower().startswith("<!doctype")
    parser.feed(shown[shown.index('id="content-main"') :] if whole else shown)
    yield from parser.tables[table]


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in {"td", "th"} and self.tables:
            self.tables[-1][-1].append("")
            self.open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"} and self.tables:
            self.open = False
            cells = self.tables[-1][-1]
            cells[-1] = " ".join(cells[-1].replace("\xa0", " ").split())

    def handle_data(self, data: str) -> None:
        if self.open:
            self.tables[-1][-1][-1] += data
