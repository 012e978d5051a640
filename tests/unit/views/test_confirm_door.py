"""Confirm: a popup or a mobile app hands a reference over."""

import json
from typing import Any

import pytest
from django.urls import reverse

from payments_pages.choices import Outcome
from tests.support.door_behaviour import Answer, HttpDoorBehaviour, Meaning, pay
from tests.unit.views.exchanges import exchange

STATUSES = {
    200: Meaning.GIVEN,
    402: Meaning.NOT_PAID,
    404: Meaning.UNKNOWN,
    400: Meaning.INVALID,
    503: Meaning.LATER,
}


class TestConfirmDoor(HttpDoorBehaviour):
    def send(self, reference: str) -> Answer:
        url = self.origin + reverse("payments_pages:confirm")
        return exchange("POST", url, json={"reference": reference})[0]

    def meaning(self, answer: Answer) -> Meaning:
        if answer.status == 202:
            return (
                Meaning.HELD if json.loads(self.body(answer))["outcome"] == "held" else Meaning.WAIT
            )
        return STATUSES[answer.status]

    def body(self, answer: Answer) -> str:
        return answer.text.split("\n\n", 1)[1]

    @pytest.mark.parametrize(
        "fields", [{}, {"amount": 1}, {"status": "failed"}, {"status": "pending"}]
    )
    def test_the_body_has_three_members_whatever_the_outcome(self, fields: dict[str, Any]) -> None:
        reference = pay(self.sandbox, **fields)
        said = json.loads(self.body(self.send(reference)))
        assert sorted(said) == ["outcome", "reference", "result_url"]
        assert said["outcome"] in Outcome.values
        assert said["reference"] == reference
        assert said["result_url"].startswith(f"{self.origin}/payments/result/")
        assert reference not in said["result_url"]
        assert exchange("GET", said["result_url"])[0].status == 200

    def test_without_a_payment_there_is_no_result_to_see(self) -> None:
        said = json.loads(self.body(self.send("NEVER-HEARD-OF")))
        assert said == {"outcome": "unknown", "reference": "NEVER-HEARD-OF", "result_url": None}
