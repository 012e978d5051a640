"""The admin: staff ask the service again about a reference."""

import re

import pytest
import requests
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, Outcome
from payments_pages.models import Verification
from payments_pages.references import reference_key
from payments_pages.verification import note
from tests.doors.behaviour import Answer, DoorBehaviour, Meaning

OUTCOMES = {
    Outcome.DELIVERED: Meaning.GIVEN,
    Outcome.ALREADY_DELIVERED: Meaning.GIVEN,
    Outcome.DELIVERING: Meaning.WAIT,
    Outcome.DELIVERY_FAILED: Meaning.WAIT,
    Outcome.PENDING: Meaning.WAIT,
    Outcome.HELD: Meaning.HELD,
    Outcome.NOT_PAID: Meaning.NOT_PAID,
    Outcome.UNKNOWN: Meaning.UNKNOWN,
    Outcome.UNAVAILABLE: Meaning.LATER,
}


class TestAdminDoor(DoorBehaviour):
    asks_again_about_settled = True

    @pytest.fixture(autouse=True)
    def signed_in(self, place: None) -> None:
        staff = Client()
        staff.force_login(User.objects.create_superuser("staff"))
        self.cookies = {name: morsel.value for name, morsel in staff.cookies.items()}
        assert SessionStore(self.cookies["sessionid"]).exists(self.cookies["sessionid"])

    def send(self, reference: str) -> Answer:
        """Choose the reference in the list of those that are asked about."""
        note(reference, reference_key(reference), door=Door.ADMIN)
        row = Verification.objects.get(reference_key=reference_key(reference))
        url = self.origin + reverse("admin:payments_pages_verification_changelist")
        with requests.Session() as session:
            session.trust_env = False
            session.cookies.update(self.cookies)
            listed = session.get(url, timeout=30)
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', listed.text)
            assert token is not None
            form = {
                "action": "verify_again",
                "_selected_action": row.pk,
                "csrfmiddlewaretoken": token[1],
            }
            answer = session.post(url, data=form, timeout=30)
        return Answer(answer.status_code, answer.text)

    def meaning(self, answer: Answer) -> Meaning:
        assert answer.status == 200
        message = re.search(r'<li class="(\w+)">([^<]*)</li>', answer.text)
        assert message is not None
        if message[1] == "error":
            return Meaning.INVALID
        said = message[2].rsplit(": ", 1)[1]
        return next(OUTCOMES[outcome] for outcome in OUTCOMES if outcome.label == said)
