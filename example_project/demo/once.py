"""Buy once by itself, over HTTP, through the doors a person uses, and check every step."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit, urlunsplit

import requests
from django.db import connection, connections

from example_project.demo.addresses import Addresses, sqlite_url
from example_project.demo.logins import ADMIN, reset_login
from example_project.demo.parts import Parts
from example_project.demo.running import start_sandbox, start_site
from example_project.demo.rush import Answers, Rush
from example_project.demo.storage import Storage
from example_project.demo.visitor import Visitor
from example_project.shop.models import Licence, Offer
from example_project.shop.orders import place_order
from payments_pages.choices import FulfilmentState
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.pages import public_url

__all__ = ["StoryError", "run_once"]

CROWD = 20
COMMANDS = 4
SLOWNESS = 1.0
"""Seconds the sandbox takes over its answer, so that all who ask really meet."""

SLUG = "one-purchase"
PRICE = "120.50"
NAME = "One purchase"
POPUP_PAYMENT = {"amount": 12050, "currency": "ILS", "email": "payer@example.test"}


class StoryError(Exception):
    """Say which step did not come out as it must."""


def require(condition: object, message: str) -> None:
    """Raise `StoryError` with `message` unless the condition holds."""
    if not condition:
        raise StoryError(message)


def run_once(addresses: Addresses, storage: Storage, say: Callable[[str], object]) -> None:
    """Create, pay, confirm from everywhere at once, look, do so with a crowd, deactivate.

    Uses a database of its own, on the server that `DATABASE_URL` names if it names one, and
    removes it. Raise `StoryError` or `PartDiedError` unless each payment gave exactly one licence.
    """
    with _own_database(storage) as database_url:
        environment = addresses.environment(database_url)
        with Parts(environment=environment, logs=storage.logs) as parts, Visitor() as visitor:
            # No webhook: it would have the value given before anybody can meet.
            start_sandbox(parts, addresses, storage)
            start_site(parts, addresses)
            story = _Story(addresses, visitor, say, os.environ | environment)
            try:
                story.tell()
            except (LookupError, requests.RequestException) as error:
                raise StoryError(f"After step {story.step}: {error}") from error


@dataclass(slots=True)
class _Story:
    addresses: Addresses
    visitor: Visitor
    say: Callable[[str], object]
    environment: dict[str, str]
    step: int = 0

    def tell(self) -> None:
        """Take the steps in order."""
        self._note(f"Database: {connection.vendor}. Shop {self.addresses.site}.")
        self._sign_in()
        page = self._create_page()
        callback = self._pay(page)
        reference = parse_qs(urlsplit(callback).query)["reference"][0]
        self._confirm_from_everywhere(callback, reference)
        self._look(callback, reference)
        self._confirm_a_crowd(page)
        self._deactivate(page)
        self.say("Done: each paid once, confirmed many times, delivered exactly once.")

    def _note(self, text: str) -> None:
        self.step += 1
        self.say(f"{self.step}. {text}")

    def _sign_in(self) -> None:
        login, password = reset_login(ADMIN)
        form = self.visitor.get(f"{self.addresses.site}/admin/login/?next=/admin/")
        answer = self.visitor.submit(form, {"username": login, "password": password})
        require(answer.status_code == 302, f"The admin refused the login: {answer.status_code}.")
        self._note("Signed in to the admin through its form.")

    def _create_page(self) -> PaymentPage:
        address = f"{self.addresses.site}/admin/payments_pages/paymentpage/add/"
        form = self.visitor.get(address)
        answer = self.visitor.submit(
            form, {"name": NAME, "amount": PRICE, "description": "Made by the demo.", "slug": SLUG}
        )
        require(
            answer.status_code == 302, f"The admin did not create the page: {answer.status_code}."
        )
        page = PaymentPage.objects.confirmed().get(slug=SLUG)
        require(page.amount == 12050, f"{PRICE} became {page.amount} minor units.")
        self._note(f"Created a page in the admin: {PRICE} is sold at {public_url(page)}")
        return page

    def _pay(self, page: PaymentPage) -> str:
        """Pay as a payer does; return the callback's address, not opened yet."""
        form = self.visitor.get(public_url(page))
        require(PRICE in form.text, "The sandbox's page does not show the price.")
        answer = self.visitor.submit(form, {"email": "payer@example.test"}, ("choice", "pay"))
        callback = answer.headers.get("Location", "")
        require(answer.status_code == 303 and callback, f"Paying answered {answer.status_code}.")
        require(callback.startswith(page.redirect_url), "The payer is sent to another address.")
        self._note("Paid on the hosted page; the redirect back is held for a moment.")
        return callback

    def _confirm_from_everywhere(self, callback: str, reference: str) -> None:
        rush = self._rush()
        for _person in range(CROWD):
            rush.callback(callback)
            rush.confirm(reference)
            rush.webhook(reference)
        for _process in range(COMMANDS):
            rush.command(reference)
        self._slow_down(verifications=1)
        answers = rush.go()
        self._note(
            f"Confirmed one payment {answers.total} times at once: {CROWD} callbacks, {CROWD} "
            f"confirms, {CROWD} webhooks, and {COMMANDS} payments_pages_confirm, each a process."
        )
        self._report(answers, [reference], asked=3 * CROWD + COMMANDS)
        _require_deliveries(1)
        self.say("   fulfilments delivered: 1; licences given: 1")

    def _confirm_a_crowd(self, page: PaymentPage) -> None:
        """Order and pay in popups, then confirm each through three doors, all at once."""
        Offer.objects.filter(page=page).update(popup=True)
        offer = Offer.objects.get(page=page)
        references = [place_order(offer).expected.reference for _buyer in range(CROWD)]
        rush = self._rush()
        for reference in references:
            self._control("checkouts", reference=reference, **POPUP_PAYMENT)
            self._control(f"checkouts/{reference}")
            rush.callback(f"{self.addresses.site}/payments/callback/?reference={reference}")
            rush.confirm(reference)
            rush.webhook(reference)
        self._slow_down(verifications=CROWD)
        answers = rush.go()
        self._note(
            f"Paid {CROWD} orders in popups; confirmed each by callback, confirm and webhook, "
            f"{answers.total} times at once."
        )
        self._report(answers, references, asked=3 * CROWD)
        _require_deliveries(1 + CROWD)
        given = Licence.objects.filter(order__expected__reference__in=references).count()
        require(given == CROWD, f"{given} of {CROWD} orders have their licence.")
        self.say(f"   fulfilments delivered: {CROWD}; licences given: {given}")

    def _rush(self) -> Rush:
        return Rush(
            site=self.addresses.site, control=self.addresses.control, environment=self.environment
        )

    def _slow_down(self, *, verifications: int) -> None:
        self._control(
            "faults", operation="verify", kind="latency", seconds=SLOWNESS, times=verifications
        )

    def _report(self, answers: Answers, references: list[str], *, asked: int) -> None:
        for door, counts in sorted(answers.codes.items()):
            kind = "exit" if door == "command" else "status"
            self.say(f"   {door}, by {kind} code: {_counted(counts)}")
        if answers.sent_again:
            self.say(f"   webhooks sent again, as the site asked: {answers.sent_again}")
        calls = [self._verify_calls(reference) for reference in references]
        self.say(f"   verify calls at the sandbox: {sum(calls)}")
        require(not answers.troubles, "Somebody got no answer: " + "; ".join(answers.troubles))
        require(not answers.failed, f"Doors failed: {answers.failed}.")
        require(answers.total == asked, f"{answers.total} of {asked} answered.")
        require(set(calls) == {1}, f"Verify calls by reference: {calls}; one each is enough.")

    def _look(self, callback: str, reference: str) -> None:
        licence = Licence.objects.get()
        result = self.visitor.get(callback)
        require(result.status_code == 200, f"The result page answers {result.status_code}.")
        require("Payment received" in result.text, "The result page does not say so.")
        require(reference not in result.url, "The reference stays in the address bar.")
        self._note('Opened the callback once more: "Payment received".')
        self._require_shown("purchases/", licence.code)
        self._require_shown("admin/payments_pages/transaction/", reference)
        self._require_shown(
            "admin/payments_pages/transaction/?fulfilment__state=delivered", reference
        )
        require(self._verify_calls(reference) == 1, "A settled payment was asked about again.")
        _require_deliveries(1)
        self._note(f"Found licence {licence.code} in the shop, the payment in the admin.")

    def _require_shown(self, path: str, text: str) -> None:
        page = self.visitor.get(f"{self.addresses.site}/{path}")
        shown = page.text.count(text)
        require(page.status_code == 200 and shown, f"/{path} ({page.status_code}) lacks {text}.")

    def _deactivate(self, page: PaymentPage) -> None:
        listing = self.visitor.get(f"{self.addresses.site}/admin/payments_pages/paymentpage/")
        question = self.visitor.submit(
            listing, {"action": "deactivate_pages", "_selected_action": str(page.pk)}
        )
        require(question.status_code == 200, f"The admin action answered {question.status_code}.")
        answer = self.visitor.submit(question, {"confirmed": "1"})
        require(answer.status_code == 200, f"The confirmed action answered {answer.status_code}.")
        refused = self.visitor.get(public_url(page))
        require(refused.status_code == 404, f"The sandbox still sells: {refused.status_code}.")
        self._note("Deactivated the page by the admin's action: the sandbox sells it no more.")

    def _control(self, path: str, **body: object) -> None:
        answer = requests.post(f"{self.addresses.control}/{path}", json=body, timeout=10)
        answer.raise_for_status()

    def _verify_calls(self, reference: str) -> int:
        answer = requests.get(
            f"{self.addresses.control}/calls",
            params={"operation": "verify", "reference": reference},
            timeout=10,
        )
        answer.raise_for_status()
        return int(answer.json()["calls"])


def _require_deliveries(number: int) -> None:
    end = time.monotonic() + 10
    while Fulfilment.objects.exclude(state=FulfilmentState.DELIVERED).exists():
        states = list(Fulfilment.objects.values_list("state", "last_error"))
        require(time.monotonic() < end, f"A delivery is still open: {states}")
        time.sleep(0.1)
    counts = Fulfilment.objects.count(), Licence.objects.count()
    expected = f"There are {counts[0]} fulfilments and {counts[1]} licences, not {number}."
    require(counts == (number, number), expected)


def _counted(counts: dict[int, int]) -> str:
    return ", ".join(f"{code} × {count}" for code, count in sorted(counts.items()))


@contextmanager
def _own_database(storage: Storage) -> Iterator[str]:
    """Make an empty, migrated database, use it in this process, remove it; yield its address."""
    chosen = os.environ.get("DATABASE_URL", "")
    former = connection.settings_dict["NAME"]
    name = (
        str(storage.database)
        if connection.vendor == "sqlite"
        else f"payments_pages_once_{os.getpid()}"
    )
    connection.settings_dict["TEST"]["NAME"] = name
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        if connection.vendor == "sqlite":
            yield sqlite_url(storage.database)
        else:
            yield urlunsplit(urlsplit(chosen)._replace(path=f"/{name}"))
    finally:
        connections.close_all()
        connection.creation.destroy_test_db(former, verbosity=0)
