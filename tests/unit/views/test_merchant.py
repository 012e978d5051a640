"""The merchant's name, logo, colour, and the payer's way on."""

import logging
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.staticfiles.storage import StaticFilesStorage

from payments_pages.merchant import is_safe_link
from payments_pages.models import Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.views.brand import CONTRAST, DARK_PAPER, LIGHT_PAPER, brand_css
from tests.support.payer_pages import Document, show, visit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("tea_box")]


def next_of(transaction: Transaction) -> str:
    return f"/purchases/{transaction.reference}/"


def fail(_transaction: Transaction) -> str:
    raise RuntimeError("no purchase of nur.payer@example.test")


def evil(_transaction: Transaction) -> str:
    return "javascript:alert(1)"


HERE = "tests.unit.views.test_merchant"


def way_on(document: Document) -> list[str]:
    return [str(a["href"]) for a in document.all("a") if a.get("class") == "pp-button"]


@pytest.mark.parametrize("page", ["paid", "preparing", "checking", "rejected", "returned"])
def test_the_payer_goes_on_to_the_shop(sandbox: Sandbox, configure: Any, page: str) -> None:
    configure(MERCHANT={"NEXT_URL": "/purchases/", "NEXT_LABEL": {"en": "My <purchases>"}})
    document = Document(show(page, sandbox))
    assert way_on(document) == ["/purchases/"]
    assert "My &lt;purchases&gt;" in document.html
    hebrew = Document(show(page, sandbox, "&lang=he"))
    assert "My" not in hebrew.text
    assert "המשך" in hebrew.text


@pytest.mark.parametrize("value", [next_of, f"{HERE}.next_of"])
def test_a_function_of_the_payment_may_say_where(
    sandbox: Sandbox, configure: Any, value: object
) -> None:
    configure(MERCHANT={"NEXT_URL": value})
    document = Document(show("paid", sandbox))
    assert way_on(document) == [f"/purchases/{Transaction.objects.get().reference}/"]


@pytest.mark.parametrize("name", ["fail", "evil", "nowhere"])
def test_a_function_that_cannot_say_where_takes_the_link_away_and_nothing_else(
    sandbox: Sandbox, configure: Any, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    configure(MERCHANT={"NEXT_URL": f"{HERE}.{name}"})
    with caplog.at_level(logging.ERROR):
        response = show("paid", sandbox)
    assert response.status_code == 200
    assert way_on(Document(response)) == []
    assert "javascript" not in response.content.decode()
    assert "result.no_next_url" in caplog.text
    assert "nur.payer" not in caplog.text


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("/purchases/", True),
        ("/purchases/?x=1#y", True),
        ("https://shop.example.test/x", True),
        ("http://127.0.0.1:8000/", True),
        ("//evil.example/", False),
        ("///evil.example/", False),
        ("/\\evil.example/", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("https://", False),
        ("https://[", False),
        ("purchases/", False),
        ("/a b", False),
        ("/a\n", False),
        ("", False),
        (None, False),
    ],
)
def test_only_http_and_paths_are_links(url: object, safe: bool) -> None:
    assert is_safe_link(url) is safe


def test_a_logo_is_shown_and_stands_for_the_site_in_the_tab(
    sandbox: Sandbox, configure: Any
) -> None:
    configure(MERCHANT={"LOGO": "payments_pages/icon.svg", "NAME": "Olive & Sons"})
    document = Document(show("paid", sandbox))
    (image,) = document.all("img")
    # The name stands beside it: read aloud, it would come twice.
    assert (image["src"], image["alt"]) == ("/static/payments_pages/icon.svg", "")
    configure(MERCHANT={"LOGO": "payments_pages/icon.svg"})
    (image,) = Document(show("paid", sandbox)).all("img")
    assert image["alt"] == "Logo"


def test_a_logo_that_the_storage_does_not_know_is_left_out(
    sandbox: Sandbox, configure: Any, settings: Any, tmp_path: Any
) -> None:
    settings.STORAGES = {
        **django_settings.STORAGES,
        "staticfiles": {"BACKEND": f"{HERE}.StrictStorage"},
    }
    configure(MERCHANT={"LOGO": "shop/no-such-logo.svg"})
    response = show("paid", sandbox)
    assert response.status_code == 200
    assert Document(response).all("img") == []


class StrictStorage(StaticFilesStorage):
    """A storage that raises for a file it does not know, as those with a manifest do."""

    def url(self, name: str) -> str:
        if "no-such" in name:
            raise ValueError(f"Missing staticfiles manifest entry for '{name}'")
        return str(super().url(name))


@pytest.mark.parametrize(
    ("receipt", "sentence"),
    [
        (True, "The payment service sends you a receipt by e-mail."),
        (False, "No e-mail is sent. Keep the reference: it is your receipt."),
        (None, "Keep the reference: it is your receipt."),
    ],
)
def test_whether_a_receipt_comes_is_said_and_never_guessed(
    sandbox: Sandbox, configure: Any, receipt: bool | None, sentence: str
) -> None:
    configure(MERCHANT={} if receipt is None else {"RECEIPT": receipt})
    assert f"<p>{sentence}</p>" in Document(show("paid", sandbox)).html


def luminance(colour: tuple[int, ...]) -> float:
    """Of WCAG, written here a second time: the check must not use what it checks."""
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def rgb(text: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(text.strip().removeprefix("#")))


@pytest.mark.parametrize(
    "colour",
    ["#0b4f9e", "#FFFFFF", "#000000", "#ffff00", "#808080", "#ff0000", "#00ff00", "#1d2126"],
)
def test_any_colour_can_be_read_in_light_and_dark(colour: str) -> None:
    light, dark = brand_css(colour).strip().splitlines()
    for rules, paper in ((light, LIGHT_PAPER), (dark, DARK_PAPER)):
        link, on_link = (
            rgb(rules.split(f"{name}:")[1].split(";")[0]) for name in (" --link", " --on-link")
        )
        assert contrast(link, paper) >= CONTRAST
        assert contrast(on_link, link) >= CONTRAST


def test_a_colour_that_can_be_read_stays_as_it_is() -> None:
    assert "--link: #0b4f9e;" in brand_css("#0B4F9E").splitlines()[0]


@pytest.mark.parametrize(
    "colour", [None, "", "red", "#fff", "#12345g", "#000000;}body{display:none"]
)
def test_what_is_no_colour_styles_nothing(
    sandbox: Sandbox, configure: Any, colour: str | None
) -> None:
    configure(MERCHANT={"COLOUR": colour})
    assert brand_css(colour) == ""
    assert len(Document(show("paid", sandbox)).all("link")) == 2
    answer = visit("/payments/brand.css")
    assert (answer.status_code, answer.content) == (200, b"")


def test_the_colour_is_a_stylesheet_that_our_policy_allows(
    sandbox: Sandbox, configure: Any, settings: Any
) -> None:
    configure(MERCHANT={"COLOUR": "#7a1f5c"})
    settings.STATIC_URL = "https://cdn.example.test/"
    response = show("paid", sandbox)
    sheets = [link["href"] for link in Document(response).all("link")]
    assert sheets[-1] == "/payments/brand.css"
    assert (
        "style-src 'self' https://cdn.example.test;" in response.headers["Content-Security-Policy"]
    )
    answer = visit("/payments/brand.css")
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert b"--link: #7a1f5c" in answer.content


def test_a_message_to_the_shop_names_the_reference(sandbox: Sandbox, configure: Any) -> None:
    configure(MERCHANT={"CONTACT": "help@shop.example.test"})
    document = Document(show("checking", sandbox))
    reference = Transaction.objects.get().reference
    links = [a["href"] for a in document.all("a")]
    assert f"mailto:help@shop.example.test?subject={reference}" in links


@pytest.mark.parametrize("value", ["Olive Shop", ["NAME"], None, 3])
def test_a_merchant_that_is_no_dict_stops_no_payers_page(
    sandbox: Sandbox, settings: Any, value: object
) -> None:
    settings.PAYMENTS_PAGES = {**settings.PAYMENTS_PAGES, "MERCHANT": value}
    assert show("paid", sandbox).status_code == 200
