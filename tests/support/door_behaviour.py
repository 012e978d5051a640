"""Hold what every door must do; the tests of each door inherit it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import pytest
from django.db import connections
from pytest_django.live_server_helper import LiveServer

from payments_pages.choices import FulfilmentState
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

RIVALS = 8
PAYER = {
    "email": "nur.payer@example.test",
    "first_name": "Nurhayat",
    "last_name": "Haddadin",
    "phone": "+970591234567",
    "ip_address": "203.0.113.77",
    "gateway_response": "Approved by Gate 7",
}
# No digits alone: a page's token might hold them by chance.
CARD = {"authorization_code": "AUTH_secret01", "last4": "Z4Z8", "bin": "40811Z", "bank": "OUR BANK"}
PERSONAL = (*PAYER.values(), *CARD.values(), "CUS_secret01", "sk_test_suite")


class Meaning(Enum):
    """What somebody who knows a door understands by its answer."""

    GIVEN = auto()
    WAIT = auto()
    HELD = auto()
    NOT_PAID = auto()
    UNKNOWN = auto()
    INVALID = auto()
    LATER = auto()


@dataclass(frozen=True)
class Answer:
    """What a door said: its HTTP status or exit code, and every word of it."""

    status: int
    text: str


def pay(sandbox: Sandbox, **fields: Any) -> str:
    """Pay for the tea box as a person would, from whatever door it is then asked about."""
    metadata = {"page_slug": "tea-box"}
    return sandbox.pay("tea-box", **{**PAYER, "metadata": metadata, **fields})


def at_once(actions: list[Any]) -> list[Any]:
    """Run actions in as many threads, started at the same moment; raise what they raise."""
    line = threading.Barrier(len(actions))

    def run(action: Any) -> Any:
        line.wait(timeout=10)
        try:
            return action()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=len(actions)) as pool:
        return list(pool.map(run, actions))


@pytest.mark.django_db(transaction=True)
class DoorBehaviour:
    """Rules of all doors. A door says how a reference is sent, and how its answers are read."""

    after_a_failed_delivery = Meaning.WAIT
    not_paid = Meaning.NOT_PAID
    unknown = Meaning.UNKNOWN
    pending = Meaning.WAIT
    asks_again_about_settled = False

    @pytest.fixture(autouse=True)
    def place(
        self,
        live_server: LiveServer,
        tea_box: PaymentPage,
        sandbox: Sandbox,
        configure: Any,
    ) -> None:
        self.origin = live_server.url
        self.sandbox = sandbox
        configure(SITE_URL=live_server.url)

    def send(self, reference: str) -> Answer:
        """Bring one reference in by this door, as its callers do."""
        raise NotImplementedError

    def meaning(self, answer: Answer) -> Meaning:
        """Read an answer as its callers do."""
        raise NotImplementedError

    def test_what_is_paid_is_given(self) -> None:
        reference = pay(self.sandbox)
        assert self.meaning(self.send(reference)) is Meaning.GIVEN
        assert Good.objects.get().reference == reference

    def test_rivals_at_once_give_once_and_ask_once(self) -> None:
        reference = pay(self.sandbox)
        answers = at_once([lambda: self.send(reference)] * RIVALS)
        understood = {self.meaning(answer) for answer in answers}
        assert understood <= {Meaning.GIVEN, Meaning.WAIT}
        assert Meaning.GIVEN in understood
        assert Good.objects.count() == Fulfilment.objects.count() == 1
        if not self.asks_again_about_settled:
            assert self.sandbox.verify_calls(reference) == 1

    def test_what_is_settled_makes_no_call_and_stays_given(self) -> None:
        reference = pay(self.sandbox)
        self.send(reference)
        self.sandbox.faults.add(operation="verify", kind="drop")
        let_time_pass(60)
        assert self.meaning(self.send(reference)) is Meaning.GIVEN
        assert Good.objects.count() == 1
        # The client repeats a read whose connection was dropped.
        calls = self.sandbox.verify_calls(reference)
        assert calls > 1 if self.asks_again_about_settled else calls == 1

    def test_what_is_unknown_is_asked_once_leaves_no_payment_and_may_come_later(self) -> None:
        assert self.meaning(self.send("LATE-1")) is self.unknown
        assert self.sandbox.verify_calls("LATE-1") == 1
        assert not Transaction.objects.exists()
        pay(self.sandbox, reference="LATE-1")
        let_time_pass(10)
        assert self.meaning(self.send("LATE-1")) is Meaning.GIVEN

    @pytest.mark.parametrize("reference", ["a/b", "..", "a b", "PPG\u0661", "<b>1</b>"])
    def test_what_is_malformed_is_refused_without_a_call(self, reference: str) -> None:
        answer = self.send(reference)
        assert self.meaning(answer) is Meaning.INVALID
        assert "<b>1</b>" not in answer.text or answer.status in {0, 1}
        assert self.sandbox.verify_calls() == 0
        assert not Transaction.objects.exists()

    def test_c25_while_the_service_is_down_nothing_is_called_failed(self) -> None:
        reference = pay(self.sandbox)
        self.sandbox.faults.add(operation="verify", kind="html", status=502)
        answer = self.send(reference)
        assert self.meaning(answer) is Meaning.LATER
        assert "Bad Gateway" not in answer.text
        assert not Good.objects.exists()
        self.sandbox.faults.clear()
        let_time_pass(10)
        assert self.meaning(self.send(reference)) is Meaning.GIVEN
        assert Good.objects.count() == 1

    @pytest.mark.parametrize("kind", ["hang", "drip"])
    def test_c15_a_service_that_hangs_is_given_up_in_time_and_nothing_is_called_failed(
        self, configure: Any, kind: str
    ) -> None:
        configure(DEADLINE=0.6)
        reference = pay(self.sandbox)
        self.sandbox.faults.add(operation="verify", kind=kind)
        began = time.monotonic()
        assert self.meaning(self.send(reference)) is Meaning.LATER
        assert time.monotonic() - began < 5
        assert not Fulfilment.objects.exists()
        self.sandbox.faults.clear()
        configure(DEADLINE=8)
        let_time_pass(60)
        assert self.meaning(self.send(reference)) is Meaning.GIVEN
        assert Good.objects.count() == 1

    def test_what_is_held_is_told_without_its_reason(self) -> None:
        answer = self.send(pay(self.sandbox, amount=9999))
        assert self.meaning(answer) is Meaning.HELD
        assert "mismatch" not in answer.text
        assert not Good.objects.exists()

    def test_c12_a_handler_that_fails_and_then_works_gives_once(self, configure: Any) -> None:
        configure(HANDLER="tests.support.goods.handlers.fail_first")
        reference = pay(self.sandbox)
        answer = self.send(reference)
        assert self.meaning(answer) is self.after_a_failed_delivery
        assert "the first attempt fails" not in answer.text
        assert Fulfilment.objects.get().state == FulfilmentState.FAILED
        assert not Good.objects.exists()
        assert self.meaning(self.send(reference)) is Meaning.GIVEN
        assert Good.objects.get().attempt == 2

    @pytest.mark.parametrize("status", ["failed", "abandoned", "reversed"])
    def test_c03_what_is_not_paid_is_called_so(self, status: str) -> None:
        # What was reversed was a success once, as a signed message says.
        meaning = Meaning.NOT_PAID if status == "reversed" else self.not_paid
        assert self.meaning(self.send(pay(self.sandbox, status=status))) is meaning
        assert not Fulfilment.objects.exists()

    def test_c16_what_is_pending_waits_and_is_given_when_it_is_paid(self) -> None:
        reference = pay(self.sandbox, status="pending")
        assert self.meaning(self.send(reference)) is self.pending
        self.sandbox.set_transaction(reference, status="success")
        let_time_pass(10)
        assert self.meaning(self.send(reference)) is Meaning.GIVEN
        assert Good.objects.count() == 1

    @pytest.mark.parametrize("fields", [{}, {"amount": 1}, {"status": "failed"}])
    def test_no_answer_holds_personal_data_or_secrets(self, fields: dict[str, Any]) -> None:
        reference = pay(self.sandbox, **fields)
        data = self.sandbox.transaction(reference)
        assert data is not None
        self.sandbox.set_transaction(
            reference,
            authorization={**data["authorization"], **CARD},
            customer={**data["customer"], "customer_code": "CUS_secret01"},
        )
        first, second = self.send(reference), self.send(reference)
        stored = Transaction.objects.get()
        assert stored.customer_email == PAYER["email"]
        for word in PERSONAL:
            assert word not in first.text + second.text


class OutsideDoorBehaviour(DoorBehaviour):
    """Rules of the doors that take any text: no row has to be there before."""

    @pytest.mark.parametrize("length", [129, 3000])
    def test_c45_what_is_too_long_is_refused_without_a_call(self, length: int) -> None:
        assert self.meaning(self.send("x" * length)) is Meaning.INVALID
        assert self.sandbox.verify_calls() == 0

    def test_the_longest_reference_is_taken(self) -> None:
        reference = pay(self.sandbox, reference="x" * 128)
        assert self.meaning(self.send(reference)) is Meaning.GIVEN

    def test_c52_references_that_differ_by_case_are_two_payments(self) -> None:
        for reference in (
            pay(self.sandbox, reference="ppg-AbC"),
            pay(self.sandbox, reference="ppg-aBc"),
        ):
            assert self.meaning(self.send(reference)) is Meaning.GIVEN
        assert self.meaning(self.send("PPG-ABC")) is self.unknown
        assert Good.objects.count() == 2


class HttpDoorBehaviour(OutsideDoorBehaviour):
    """Rules of the doors that answer over HTTP."""

    def test_no_answer_is_kept_or_followed(self) -> None:
        text = self.send(pay(self.sandbox)).text
        assert "Cache-Control: no-store, private" in text
        assert "Referrer-Policy: no-referrer" in text
        assert "X-Robots-Tag: noindex, nofollow" in text
        assert "Content-Security-Policy: default-src 'none'" in text
        assert "Set-Cookie" not in text
