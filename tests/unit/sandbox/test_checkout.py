"""The hosted page: what a person sees and types."""

import re
from typing import Any

import pytest

from payments_pages.sandbox import Sandbox
from tests.unit.sandbox.payer import Page, Payer, only_transaction

BACK = "https://shop.example/back/?order=7#end"


# What is shown


def test_the_page_shows_what_is_paid_and_that_it_is_a_sandbox(
    sandbox: Sandbox, payer: Payer
) -> None:
    sandbox.add_page(
        name="شاي بالنعناع", slug="tea", amount=12345, currency="JOD", description="A box",
        metadata={"logo_url": "https://shop.example/logo.png"},
    )  # fmt: skip
    answer = payer.look()
    assert answer.status_code == 200
    assert '<h1 dir="auto">شاي بالنعناع</h1>' in answer.text
    assert "123.45\u00a0JOD" in answer.text
    assert "A box" in answer.text
    assert 'src="https://shop.example/logo.png"' in answer.text
    assert "no money moves" in answer.text
    for button in ["Pay", "Decline", "Abandon", "Pay and close the tab", "Pay late"]:
        assert f">{button}</button>" in answer.text


def test_every_visible_input_has_a_label(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", custom_fields=[{"display_name": "Size", "variable_name": "s"}])
    page = Page(payer.look().text)
    visible = {values["id"] for values in page.inputs.values() if values.get("type") != "hidden"}
    assert len(visible) == 6
    assert visible == page.labels
    assert page.inputs["email"]["value"] == "payer@example.test"


def test_what_the_merchant_wrote_cannot_run(sandbox: Sandbox, payer: Payer) -> None:
    evil = "\"><script>alert(1)</script>{0}{name}'"
    sandbox.add_page(
        slug="tea", name=evil, description=evil, currency=evil,
        metadata={"logo_url": f"https://x/{evil}"},
        custom_fields=[{"display_name": evil, "variable_name": evil}],
    )  # fmt: skip
    answer = payer.look()
    again = payer.choose("pay", **{"email": evil, "first_name": evil, f"custom:{evil}": evil})
    for text in (answer.text, again.text):
        assert "script" not in Page(text).tags
        assert evil in Page(text).text
    assert Page(again.text).inputs["first_name"]["value"] == evil
    assert Page(again.text).inputs[f"custom:{evil}"]["value"] == evil


@pytest.mark.parametrize("logo", ["javascript:alert(1)", "data:image/png,x", "/logo.png", 5, None])
def test_only_a_web_address_is_a_logo(sandbox: Sandbox, payer: Payer, logo: object) -> None:
    sandbox.add_page(slug="tea", metadata={"logo_url": logo})
    assert "img" not in Page(payer.look().text).tags


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_or_inactive_page_is_not_available(
    sandbox: Sandbox, payer: Payer, method: str
) -> None:
    sandbox.add_page(slug="shut", amount=100, active=False)
    for slug in ["shut", "nothing", "", "shut/more"]:
        answer = payer.look(slug) if method == "GET" else payer.choose("pay", slug)
        assert answer.status_code == 404
        assert "This page is not available" in answer.text
    assert sandbox.state.transactions() == []


def test_a_page_of_any_slug_can_be_reached_and_paid(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="شاي/1?", amount=100)
    path = "%D8%B4%D8%A7%D9%8A%2F1%3F"
    assert payer.look(path).status_code == 200
    assert "action=" not in payer.look(path).text
    assert payer.choose("pay", path).status_code == 200
    assert only_transaction(sandbox)["status"] == "success"


def test_pages_are_not_kept_framed_or_given_cookies(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=100)
    for answer in [payer.look(), payer.choose("pay"), payer.look("nothing")]:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Set-Cookie" not in answer.headers


def test_the_stylesheet_is_the_sandboxs_own(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea")
    (address,) = re.findall(r'<link rel="stylesheet" href="([^"]+)">', payer.look().text)
    answer = payer.session.get(sandbox.pay_url.removesuffix("/pay") + address)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "prefers-color-scheme: dark" in answer.text


def test_pages_are_looked_at_and_posted_to_only(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea")
    url = f"{sandbox.pay_url}/tea"
    assert payer.session.head(url).status_code == 200
    assert payer.session.head(url).content == b""
    answer = payer.session.delete(url)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, POST")


# What the payer types


@pytest.mark.parametrize(
    ("typed", "amount"), [("120.50", 12050), ("599.80", 59980), ("١٢٫٥", 1250), ("7", 700)]
)
def test_a_payer_chooses_the_amount_of_a_page_without_one(
    sandbox: Sandbox, payer: Payer, typed: str, amount: int
) -> None:
    sandbox.add_page(slug="tea", currency="JOD")
    assert "amount" in Page(payer.look().text).inputs
    payer.choose("pay", amount=typed)
    assert only_transaction(sandbox)["amount"] == amount


@pytest.mark.parametrize("typed", ["", "0", "-5", "1e3", "tea", "1.234"])
def test_an_amount_that_is_none_is_asked_for_again(
    sandbox: Sandbox, payer: Payer, typed: str
) -> None:
    sandbox.add_page(slug="tea")
    answer = payer.choose("pay", amount=typed, first_name="Rana")
    page = Page(answer.text)
    assert answer.status_code == 422
    assert page.inputs["amount"]["aria-invalid"] == "true"
    assert page.inputs["amount"]["value"] == typed
    assert page.inputs["first_name"]["value"] == "Rana"
    assert "aria-invalid" not in page.inputs["email"]
    assert sandbox.state.transactions() == []


def test_a_typed_amount_does_not_change_a_price(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=10000)
    payer.choose("pay", amount="1")
    assert only_transaction(sandbox)["amount"] == 10000


@pytest.mark.parametrize("email", ["", "rana", "@example.test", "rana@", "ra na@example.test"])
def test_an_email_is_needed(sandbox: Sandbox, payer: Payer, email: str) -> None:
    sandbox.add_page(slug="tea", amount=100)
    answer = payer.choose("pay", email=email)
    assert answer.status_code == 422
    assert Page(answer.text).inputs["email"]["aria-invalid"] == "true"
    assert sandbox.state.transactions() == []


def test_an_unknown_choice_pays_nothing(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.add_page(slug="tea", amount=100)
    assert payer.choose("steal").status_code == 422
    assert sandbox.state.transactions() == []


def test_custom_fields_end_up_in_the_metadata(sandbox: Sandbox, payer: Payer) -> None:
    fields: list[Any] = [
        {"display_name": "مقاس", "variable_name": "size"},
        {"display_name": "E-mail of a friend", "variable_name": "email"},
        {"display_name": "No name"}, "odd", None,
    ]  # fmt: skip
    sandbox.add_page(slug="tea", amount=100, custom_fields=fields)
    payer.choose("pay", **{"custom:size": "كبير", "custom:email": "f@example.test"})
    data = only_transaction(sandbox)
    assert data["metadata"] == {
        "custom_fields": [{**fields[0], "value": "كبير"}, {**fields[1], "value": "f@example.test"}]
    }
    assert data["customer"]["email"] == "rana@example.test"


def test_the_metadata_may_name_the_page(sandbox: Sandbox, payer: Payer) -> None:
    sandbox.set_account(metadata="referrer")
    sandbox.add_page(
        slug="tea/1", amount=100, custom_fields=[{"display_name": "A", "variable_name": "a"}]
    )
    payer.choose("pay", "tea%2F1", **{"custom:a": "1"})
    metadata = only_transaction(sandbox)["metadata"]
    assert set(metadata) == {"referrer", "custom_fields"}
    assert metadata["referrer"] == f"{sandbox.pay_url}/tea%2F1"
