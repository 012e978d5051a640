"""The admin: staff bring a reference in by hand."""

import html
import re

import pytest
import requests
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Outcome
from tests.support.door_behaviour import Answer, Meaning, OutsideDoorBehaviour

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


class TestAdminDoor(OutsideDoorBehaviour):
    asks_again_about_settled = True

    @pytest.fixture(autouse=True)
    def signed_in(self, place: None) -> None:
        staff = Client()
        staff.force_login(User.objects.create_superuser("staff"))
        self.cookies = {name: morsel.value for name, morsel in staff.cookies.items()}
        assert SessionStore(self.cookies["sessionid"]).exists(self.cookies["sessionid"])

    def send(self, reference: str) -> Answer:
        """Type the reference into the form."""
        url = self.origin + reverse("admin:payments_pages_transaction_verify_reference")
        with requests.Session() as session:
            session.trust_env = False
            session.cookies.update(self.cookies)
            form = session.get(url, timeout=30)
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.text)
            assert token is not None
            data = {"reference": reference, "csrfmiddlewaretoken": token[1]}
            answer = session.post(url, data=data, timeout=30)
        return Answer(answer.status_code, answer.text)

    def meaning(self, answer: Answer) -> Meaning:
        assert answer.status == 200
        if "errorlist" in answer.text:
            return Meaning.INVALID
        said = re.search(r'<span class="pp-outcome">([^<]*)</span>', answer.text)
        assert said is not None
        label = html.unescape(said[1])
        return next(OUTCOMES[outcome] for outcome in OUTCOMES if outcome.label == label)
