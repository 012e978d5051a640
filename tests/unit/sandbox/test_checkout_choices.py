"""The hosted page: what each button does."""

import re
import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from example_project.shop import handlers
from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.choices import ASKED, FAIL_ONCE
from payments_pages.sandbox.payments import returning_url
from tests.unit.sandbox.payer import Page, Payer, only_transaction

BACK = "https://shop.example/back/?order=7#end"


def test_pay_sends_the_payer_back_with_the_reference(
    sandbox: Sandbox, payer: Payer, api: Any
) -> None:
    page = sandbox.add_page(slug="tea", amount=10000, redirect_url=BACK)
    answer = payer.choose("pay", first_name="Rana", phone="0599")
    back = urlsplit(answer.headers["Location"])
    query = parse_qsl(back.query)
    data = only_transaction(sandbox)
    assert answer.status_code == 303
    assert (back.netloc, back.path, back.fragment) == ("shop.example", "/back/", "end")
    assert query == [
        ("order", "7"),
        ("reference", data["reference"]),
        ("trxref", data["reference"]),
    ]
    assert re.fullmatch(r"[A-Za-z0-9]{10,}", data["reference"])
    assert api.verify(data["reference"]).json()["data"] == data
    assert (data["status"], data["amount"], data["currency"]) == ("success", 10000, "ILS")
    assert data["customer"]["email"] == "rana@example.test"
    assert data["customer"]["first_name"] == "Rana"
    assert data["customer"]["last_name"] is None
    assert data["customer"]["phone"] == "0599"
    assert data["ip_address"] == "127.0.0.1"
    assert data["metadata"] == ""
    assert sandbox.state.transactions()[0].page_id == page["id"]


def test_the_names_of_the_parameters_are_the_accounts(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.set_account(reference_params=["ref"])
    sandbox.add_page(slug="tea", amount=1, redirect_url="https://shop.example/back")
    location = payer.choose("pay").headers["Location"]
    assert location == f"https://shop.example/back?ref={only_transaction(sandbox)['reference']}"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example", "https://a.example?r=X%2F1"),
        ("https://a.example/b?", "https://a.example/b?r=X%2F1"),
        ("https://a.example/b?r=1&c=%20", "https://a.example/b?r=1&c=%20&r=X%2F1"),
        ("https://a.example/b#c?d", "https://a.example/b?r=X%2F1#c?d"),
    ],
)
def test_a_query_that_is_there_stays(url: str, expected: str) -> None:
    assert returning_url(url, "X/1", ("r",)) == expected


def test_without_an_address_to_return_to_there_is_a_receipt(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=10000)
    answer = payer.choose("pay")
    assert answer.status_code == 200
    assert "Payment received" in answer.text
    assert only_transaction(sandbox)["reference"] in answer.text
    assert "100.00\u00a0ILS" in answer.text


@pytest.mark.parametrize(
    ("choice", "status", "text"),
    [
        ("decline", "failed", "Payment failed"),
        ("abandon", "abandoned", "Payment not completed"),
        ("close", "success", "You may close this tab"),
    ],
)
def test_no_other_button_sends_the_payer_back(
    sandbox: Sandbox, payer: Payer, choice: str, status: str, text: str
) -> None:
    sandbox.add_page(slug="tea", amount=10000, redirect_url=BACK)
    answer = payer.choose(choice)
    assert answer.status_code == 200
    assert text in answer.text
    assert Page(answer.text).links[-1] == "https://shop.example/", "but he finds the way"
    data = only_transaction(sandbox)
    assert data["status"] == status
    assert (data["paid_at"] is None) == (status != "success")


@pytest.mark.parametrize("choice", ["decline", "abandon"])
def test_an_unpaid_attempt_is_taken_up_under_its_reference(
    sandbox: Sandbox, payer: Payer, choice: str
) -> None:
    sandbox.add_page(slug="tea", amount=10000, redirect_url=BACK)
    ended = payer.choose(choice)
    first = only_transaction(sandbox)
    link, _shop = Page(ended.text).links
    again = Page(payer.look(f"tea{link}").text)
    reference = again.inputs["reference"]["value"] or ""
    assert reference == first["reference"]
    payer.choose("pay", reference=reference)
    second = only_transaction(sandbox)
    assert (second["reference"], second["id"]) == (first["reference"], first["id"])
    assert second["status"] == "success"


def test_a_payment_that_is_done_cannot_be_taken_up(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=10000)
    sandbox.add_page(slug="coffee", amount=1)
    paid, elsewhere = sandbox.pay("tea"), sandbox.pay("coffee", status="abandoned")
    for reference in [paid, elsewhere, "made-up"]:
        payer.choose("decline", reference=reference)
    found = [sandbox.transaction(reference) for reference in (paid, elsewhere, "made-up")]
    assert [data and data["status"] for data in found] == ["success", "abandoned", None]
    assert len(sandbox.state.transactions()) == 5


def test_c16_pay_late_is_pending_now_and_a_success_later(
    sandbox: Sandbox, payer: Payer, api: Any
) -> None:
    sandbox.set_account(late_seconds=0.2)
    sandbox.add_page(slug="tea", amount=10000, redirect_url=BACK)
    answer = payer.choose("late", first_name="Rana")
    early = only_transaction(sandbox)
    assert answer.status_code == 303
    assert (early["status"], early["paid_at"]) == ("pending", None)
    deadline = time.monotonic() + 5
    while only_transaction(sandbox)["status"] == "pending" and time.monotonic() < deadline:
        time.sleep(0.02)
    late = api.verify(early["reference"]).json()["data"]
    assert (late["status"], late["id"], late["amount"]) == ("success", early["id"], 10000)
    assert late["paid_at"] > early["created_at"]
    assert late["created_at"] == early["created_at"]
    assert late["customer"] == early["customer"]


def test_what_was_changed_meanwhile_does_not_ripen(sandbox: Sandbox) -> None:
    sandbox.add_page(slug="tea", amount=10000)
    reference = sandbox.pay("tea", late=0.1)
    sandbox.set_transaction(reference, status="failed")
    time.sleep(0.3)
    data = only_transaction(sandbox)
    assert (data["reference"], data["status"]) == (reference, "failed")


def test_c57_a_page_that_closes_while_somebody_pays_takes_no_money(
    sandbox: Sandbox, payer: Payer, api: Any
) -> None:
    sandbox.add_page(slug="tea", amount=10000)
    assert payer.look().status_code == 200
    api("PUT", "/page/tea", json={"name": "Tea", "active": False})
    assert payer.choose("pay").status_code == 404
    assert sandbox.state.transactions() == []


@pytest.mark.parametrize("address", [None, "", "javascript:alert(1)", "/back/"])
def test_only_a_web_address_is_a_shop_to_go_back_to(
    sandbox: Sandbox, payer: Payer, address: str | None
) -> None:
    sandbox.add_page(slug="tea", amount=10000, redirect_url=address)
    assert Page(payer.choose("close").text).links == []


def test_pay_less_pays_a_part_of_the_price(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=10000, redirect_url=BACK)
    assert payer.choose("less").status_code == 303
    data = only_transaction(sandbox)
    assert (data["status"], data["amount"], data["fees"]) == ("success", 7500, 75)


def test_the_least_amount_is_not_paid_with_nothing(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=1)
    payer.choose("less")
    assert only_transaction(sandbox)["amount"] == 1


def test_who_chooses_the_amount_has_no_less_to_pay(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=None)
    assert 'value="less"' not in payer.look().text
    assert 'value="twice"' in payer.look().text


@pytest.mark.parametrize(("currency", "other"), [("ILS", "JOD"), ("JOD", "ILS"), ("USD", "ILS")])
def test_another_currency_is_one_of_the_services(
    sandbox: Sandbox, payer: Payer, currency: str, other: str
) -> None:
    sandbox.add_page(slug="tea", amount=10000, currency=currency, redirect_url=BACK)
    payer.choose("currency")
    data = only_transaction(sandbox)
    assert (data["amount"], data["currency"]) == (10000, other)


def test_pay_twice_is_two_payments_both_announced(
    sandbox: Sandbox, payer: Payer, merchant: Any
) -> None:
    sandbox.set_account(webhook_url=merchant.url, metadata="referrer")
    sandbox.add_page(slug="tea", amount=10000, redirect_url=BACK)
    answer = payer.choose("twice")
    first, second = (stored.data for stored in sandbox.state.transactions())
    assert first["reference"] in answer.headers["Location"]
    assert first["reference"] != second["reference"]
    assert first["id"] != second["id"]
    same = ("status", "amount", "currency", "metadata", "customer")
    assert [first[name] for name in same] == [second[name] for name in same]
    deadline = time.monotonic() + 5
    while len(merchant.received) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    told = b"".join(body for _headers, body in merchant.received).decode()
    assert first["reference"] in told
    assert second["reference"] in told


def test_what_makes_a_delivery_fail_stands_in_the_metadata(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.set_account(metadata="referrer")
    sandbox.add_page(slug="tea", amount=10000, redirect_url=BACK)
    payer.choose("fail")
    data = only_transaction(sandbox)
    assert data["status"] == "success"
    referrer = f"{sandbox.pay_url}/tea"
    assert data["metadata"] == {"referrer": referrer, "sandbox": "fail_delivery_once"}
    assert (ASKED, FAIL_ONCE) == (handlers.ASKED, handlers.FAIL_ONCE), "the example looks for it"
