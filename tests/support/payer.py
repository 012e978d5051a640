"""See a page as a payer does."""

import re
from collections import Counter
from html.parser import HTMLParser

from django.http import HttpResponse
from django.test import Client

CALLBACK = "/payments/callback/"

PAID = "Payment received"
PROCESSING = "Your payment is still being processed"
PREPARING = "Payment received – your order is being prepared"
CHECKING = "Payment received – we are checking it"
REJECTED = "Payment received – your order could not be completed"
RETURNED = "This payment was returned"
NOT_PAID = "Payment not completed"
UNKNOWN = "We could not find this payment"
UNAVAILABLE = "We cannot confirm your payment right now"


def heading(response: HttpResponse) -> str:
    found = re.search(r"<h1>(.*?)</h1>", response.content.decode())
    assert found, response.content
    return found[1].replace("&nbsp;", " ")


def follow(client: Client, response: HttpResponse) -> HttpResponse:
    """Go to the result page that a callback redirects to."""
    assert response.status_code == 303, response.content
    answer: HttpResponse = client.get(response.headers["Location"])
    assert answer.status_code == 200
    return answer


class Elements(HTMLParser):
    """Count elements and collect where links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names[tag] += 1
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]
