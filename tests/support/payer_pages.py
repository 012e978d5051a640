"""See what a payer sees: bring each of the nine pages about, and read it."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from payments_pages.models import Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.staff import reject, verify
from payments_pages.testing import configured
from tests.support import headings
from tests.support.door_behaviour import pay

__all__ = ["HEADINGS", "Document", "come", "each_page", "show", "visit"]

HEADINGS = headings.HEADINGS["en"]

each_page = pytest.mark.parametrize("page", sorted(HEADINGS))


class Document(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._inside: list[str] = []
        self.html = response.content.decode()
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def inner(self, tag: str) -> str:
        found = re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", self.html, re.DOTALL)
        return found[1].strip() if found else ""


def visit(address: str, **more: Any) -> HttpResponse:
    response: HttpResponse = Client().get(address, **more)
    return response


def come(reference: str, query: str = "", **more: Any) -> HttpResponse:
    address = f"{reverse('payments_pages:callback')}?reference={reference}{query}"
    return visit(address, follow=True, **more)


def show(page: str, sandbox: Sandbox, query: str = "", **more: Any) -> HttpResponse:
    """Bring one of the nine pages about, as it comes about in life."""
    fields: dict[str, dict[str, Any]] = {
        "checking": {"amount": 1},
        "rejected": {"amount": 1},
        "processing": {"status": "ongoing"},
        "not_paid": {"status": "failed"},
    }
    if page == "unknown":
        return come("MADE-UP", query, **more)
    if page == "unavailable":
        sandbox.faults.add(operation="verify", kind="status", status=500)
    reference = pay(sandbox, **fields.get(page, {}))
    if page == "preparing":
        with configured(HANDLER="tests.support.goods.handlers.fail_always"):
            return come(reference, query, **more)
    if page in {"rejected", "returned"}:
        come(reference)
        transaction = Transaction.objects.select_related("fulfilment").get(reference=reference)
        if page == "rejected":
            assert reject(transaction, actor="lina", note="Not ours")
        else:
            sandbox.set_transaction(reference, status="reversed")
            verify(transaction, actor="lina")
    return come(reference, query, **more)


each_page = pytest.mark.parametrize("page", sorted(HEADINGS))
