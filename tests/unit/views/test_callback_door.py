"""The callback: payers come back."""

import re

from django.urls import reverse

from tests.support.door_behaviour import Answer, HttpDoorBehaviour, Meaning
from tests.unit.views.exchanges import exchange

PAGES = {
    ("paid", 200): Meaning.GIVEN,
    ("processing", 200): Meaning.WAIT,
    ("preparing", 200): Meaning.WAIT,
    ("returned", 200): Meaning.NOT_PAID,
    ("checking", 200): Meaning.HELD,
    ("not_paid", 200): Meaning.NOT_PAID,
    ("unknown", 404): Meaning.UNKNOWN,
    ("unknown", 400): Meaning.INVALID,
    ("unavailable", 200): Meaning.LATER,
}


class TestCallbackDoor(HttpDoorBehaviour):
    def send(self, reference: str) -> Answer:
        url = self.origin + reverse("payments_pages:callback")
        return exchange("GET", url, params={"reference": reference})[0]

    def meaning(self, answer: Answer) -> Meaning:
        page = re.search(r'<main class="pp-page pp-page--(\w+)"', answer.text)
        assert page is not None
        return PAGES[page[1], answer.status]
