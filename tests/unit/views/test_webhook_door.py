"""The webhook: the service sends a signed hint."""

import json

import pytest
from django.urls import reverse

from payments_pages.signatures import sign
from tests.support.door_behaviour import Answer, HttpDoorBehaviour, Meaning
from tests.support.webhook_signing import HEADER, SECRET, event
from tests.unit.views.exchanges import exchange

OUTCOMES = {
    "delivered": Meaning.GIVEN,
    "already_delivered": Meaning.GIVEN,
    "delivering": Meaning.WAIT,
    "pending": Meaning.WAIT,
    "held": Meaning.HELD,
    "not_paid": Meaning.NOT_PAID,
    "unknown": Meaning.UNKNOWN,
}


class TestWebhookDoor(HttpDoorBehaviour):
    after_a_failed_delivery = Meaning.LATER
    # A signed success that the service does not confirm yet must be sent again.
    not_paid = unknown = pending = Meaning.LATER

    @pytest.fixture(autouse=True)
    def opened(self, place: None, open_webhook: None) -> None:
        """Open it once the site is in place."""

    def send(self, reference: str) -> Answer:
        body = event(reference)
        url = self.origin + reverse("payments_pages:webhook")
        headers = {HEADER: sign(body, SECRET, "sha256"), "Content-Type": "application/json"}
        return exchange("POST", url, data=body, headers=headers)[0]

    def meaning(self, answer: Answer) -> Meaning:
        if answer.status == 503:
            return Meaning.LATER
        if answer.status == 400:
            return Meaning.INVALID
        assert answer.status == 200, "all else must be answered 2xx, or it is sent for days"
        return OUTCOMES[json.loads(answer.text.split("\n\n", 1)[1])["outcome"]]
