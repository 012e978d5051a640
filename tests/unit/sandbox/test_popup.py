"""A started checkout: what its payer sees, and what the site around it is told."""

import re
import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

from payments_pages.sandbox import Sandbox
from tests.unit.sandbox.payer import Page, only_transaction
from tests.unit.sandbox.test_checkouts import GIVEN, SITE, start

BACK = "https://shop.example/back/?order=7#end"


class Popup:
    """A payer with a started checkout, in a popup of a site or on a page of its own."""

    def __init__(self, sandbox: Sandbox, session: requests.Session) -> None:
        self.sandbox, self.session = sandbox, session
        self.page = ""

    def start(self, **changes: Any) -> None:
        body = start(self.sandbox, self.session, **changes).json()
        self.page = body["data"]["authorization_url"]

    def look(self, query: str = "?popup") -> requests.Response:
        return self.session.get(self.page + query, allow_redirects=False)

    def choose(self, choice: str, query: str = "?popup") -> requests.Response:
        form = {"choice": choice}
        return self.session.post(self.page + query, data=form, allow_redirects=False)


@pytest.fixture
def popup(sandbox: Sandbox, plain: requests.Session) -> Popup:
    return Popup(sandbox, plain)


def told(answer: requests.Response) -> dict[str, str]:
    """What the page's script tells the site around it."""
    (tag,) = re.findall(r'<script src="/popup\.js" defer([^>]*)></script>', answer.text)
    return dict(re.findall(r'data-(\w+)="([^"]*)"', tag))


def test_the_payer_sees_what_is_paid_and_all_the_buttons(popup: Popup) -> None:
    popup.start()
    answer = popup.look()
    assert answer.status_code == 200
    assert '<bdi dir="ltr">120.50\u00a0JOD</bdi>' in answer.text
    for text in ["rana@example.test", "A-1.b=2", "no money moves"]:
        assert text in answer.text
    for button in ["Pay", "Decline", "Abandon", "Pay and close the tab", "Pay late"]:
        assert f">{button}</button>" in answer.text
    assert told(answer) == {"origin": "https://shop.example"}


@pytest.mark.parametrize(
    ("choice", "status", "ends", "text"),
    [
        ("pay", "success", "yes", "Payment received"),
        ("late", "pending", "yes", "Payment on its way"),
        ("abandon", "abandoned", "yes", "Payment not completed"),
        ("decline", "failed", "no", "Payment failed"),
    ],
)
def test_the_site_is_told_how_it_ended(
    sandbox: Sandbox, popup: Popup, choice: str, status: str, ends: str, text: str
) -> None:
    popup.start()
    answer = popup.choose(choice)
    assert answer.status_code == 200
    assert text in answer.text
    assert told(answer) == {
        "origin": "https://shop.example", "reference": "A-1.b=2", "status": status, "ends": ends,
    }  # fmt: skip
    data = only_transaction(sandbox)
    assert (data["status"], data["ip_address"]) == (status, "127.0.0.1")
    assert data["customer"]["email"] == "rana@example.test"


def test_who_pays_and_closes_the_tab_tells_nobody(sandbox: Sandbox, popup: Popup) -> None:
    popup.start()
    answer = popup.choose("close")
    assert only_transaction(sandbox)["status"] == "success"
    assert "You may close this tab" in answer.text
    assert told(answer) == {"origin": "https://shop.example"}


@pytest.mark.parametrize("choice", ["decline", "abandon"])
@pytest.mark.parametrize("query", ["?popup", ""])
def test_an_unpaid_checkout_is_paid_later_under_the_same_reference(
    sandbox: Sandbox, popup: Popup, choice: str, query: str
) -> None:
    popup.start(callback_url=BACK)
    ended = popup.choose(choice, query)
    link, *shop = Page(ended.text).links
    assert link == ("?popup&lang=en" if query else "?lang=en")
    assert shop == ([] if query else ["https://shop.example/"])
    before = only_transaction(sandbox)
    popup.choose("pay", link)
    data = only_transaction(sandbox)
    assert (data["reference"], data["id"]) == (before["reference"], before["id"])
    assert (data["status"], data["created_at"]) == ("success", before["created_at"])


def test_what_is_paid_is_not_paid_again(sandbox: Sandbox, popup: Popup) -> None:
    popup.start()
    popup.choose("pay")
    paid = only_transaction(sandbox)
    for answer in [popup.look(), popup.choose("decline"), popup.choose("pay")]:
        assert told(answer)["status"] == "success"
        assert "Payment received" in answer.text
    assert only_transaction(sandbox) == paid


def test_c16_a_late_payment_is_pending_now_and_a_success_later(
    sandbox: Sandbox, popup: Popup
) -> None:
    sandbox.set_account(late_seconds=0.2)
    popup.start(metadata={"order": "7"})
    popup.choose("late")
    assert only_transaction(sandbox)["status"] == "pending"
    assert told(popup.look())["status"] == "pending"
    deadline = time.monotonic() + 5
    while only_transaction(sandbox)["status"] == "pending" and time.monotonic() < deadline:
        time.sleep(0.02)
    data = only_transaction(sandbox)
    assert (data["status"], data["metadata"]) == ("success", {"order": "7"})
    assert popup.look().status_code == 200


def test_a_success_is_announced_like_that_of_a_page(
    sandbox: Sandbox, popup: Popup, merchant: Any
) -> None:
    sandbox.set_account(webhook_url=merchant.url)
    popup.start()
    popup.choose("decline")
    popup.choose("pay")
    deadline = time.monotonic() + 5
    while not sandbox.deliveries and time.monotonic() < deadline:
        time.sleep(0.02)
    (delivery,) = sandbox.deliveries
    assert (delivery.event, delivery.reference) == ("charge.success", "A-1.b=2")


def test_an_unknown_choice_pays_nothing(sandbox: Sandbox, popup: Popup) -> None:
    popup.start()
    answer = popup.choose("steal")
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert only_transaction(sandbox)["status"] == "abandoned"


# Who may show it and who is told


def test_only_the_site_that_started_it_may_show_it_in_a_frame(popup: Popup) -> None:
    popup.start()
    policy = popup.look().headers["Content-Security-Policy"]
    assert "frame-ancestors https://shop.example; script-src 'self'" in policy
    assert "frame-ancestors 'none'" in popup.look("").headers["Content-Security-Policy"]
    assert "<script" not in popup.look("").text


@pytest.mark.parametrize("origin", ["null", "https://a.example; script-src *", 'http://"x"', ""])
def test_an_origin_that_is_none_gets_no_popup(
    sandbox: Sandbox, plain: requests.Session, origin: str
) -> None:
    headers = {"Origin": origin} if origin else {}
    answer = plain.post(sandbox.start_url, json=GIVEN, headers=headers)
    shown = plain.get(answer.json()["data"]["authorization_url"] + "?popup")
    assert "frame-ancestors 'none'" in shown.headers["Content-Security-Policy"]
    assert "<script" not in shown.text


def test_what_the_payer_wrote_cannot_run(popup: Popup) -> None:
    evil = '"><script>alert(1)</script>@example.test'
    popup.start(email=evil, metadata={"a": evil})
    assert Page(popup.look("").text).tags.count("script") == 0
    assert evil in Page(popup.look("").text).text


# Without a popup


@pytest.mark.parametrize("choice", ["pay", "late"])
def test_a_payer_who_was_sent_here_is_sent_back(
    sandbox: Sandbox, popup: Popup, choice: str
) -> None:
    popup.start(callback_url=BACK)
    answer = popup.choose(choice, "")
    back = urlsplit(answer.headers["Location"])
    assert answer.status_code == 303
    assert (back.netloc, back.path, back.fragment) == ("shop.example", "/back/", "end")
    assert parse_qsl(back.query) == [
        ("order", "7"), ("reference", "A-1.b=2"), ("trxref", "A-1.b=2"),
    ]  # fmt: skip
    assert popup.look("").headers["Location"] == answer.headers["Location"]


@pytest.mark.parametrize("choice", ["decline", "abandon", "close"])
def test_no_other_button_sends_the_payer_back(popup: Popup, choice: str) -> None:
    popup.start(callback_url=BACK)
    answer = popup.choose(choice, "")
    assert answer.status_code == 200
    assert Page(answer.text).links[-1] == "https://shop.example/"


@pytest.mark.parametrize(
    "metadata", ["", "words", '{"order": "7"}', {"order": "7"}, "[1]", "[" * 100_000]
)
def test_a_delivery_that_shall_fail_keeps_what_else_the_metadata_says(
    sandbox: Sandbox, popup: Popup, metadata: object
) -> None:
    popup.start(metadata=metadata)
    popup.choose("fail")
    kept = {"order": "7"} if "7" in str(metadata) else {}
    assert only_transaction(sandbox)["metadata"] == {**kept, "sandbox": "fail_delivery_once"}


def test_the_second_payment_of_an_order_names_what_the_first_one_names(
    sandbox: Sandbox, popup: Popup
) -> None:
    popup.start(metadata={"order": "7"})
    popup.choose("twice")
    first, second = (stored.data for stored in sandbox.state.transactions())
    assert first["metadata"] == second["metadata"] == {"order": "7"}
    assert (second["status"], second["amount"]) == ("success", first["amount"])
    assert first["reference"] != second["reference"]
    assert sandbox.state.find_checkout("") is None


def test_without_an_address_to_return_to_there_is_a_receipt(popup: Popup) -> None:
    popup.start()
    answer = popup.choose("pay", "")
    assert answer.status_code == 200
    assert "120.50\u00a0JOD" in answer.text


def test_an_unknown_checkout_is_not_found(sandbox: Sandbox, plain: requests.Session) -> None:
    home = sandbox.start_url.removesuffix("start")
    for path in ["nothing", "", "a/b", "start/a"]:
        for answer in [plain.get(home + path), plain.post(home + path)]:
            assert answer.status_code == 404


def test_checkouts_are_looked_at_and_posted_to_only(popup: Popup) -> None:
    popup.start()
    assert popup.session.head(popup.page).content == b""
    answer = popup.session.delete(popup.page)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, POST")


# The scripts


@pytest.mark.parametrize("path", ["/inline.js", "/popup.js"])
def test_the_scripts_are_the_sandboxs_own(
    sandbox: Sandbox, plain: requests.Session, path: str
) -> None:
    answer = plain.get(sandbox.inline_url.replace("/inline.js", path))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "eval(" not in answer.text


def test_the_inline_script_defines_one_global(sandbox: Sandbox, plain: requests.Session) -> None:
    text = plain.get(sandbox.inline_url).text
    assert re.findall(r"window\.(\w+) =", text) == ["SandboxPop"]
    assert SITE["Origin"] not in text
