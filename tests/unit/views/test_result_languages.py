"""The payer's language, and the merchant's words in it."""

import re
from typing import Any

import pytest
from django.utils import translation

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.door_behaviour import pay
from tests.support.payer_pages import HEADINGS, Document, come, each_page, show, visit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("tea_box")]


@pytest.mark.parametrize("page", sorted(HEADINGS))
@pytest.mark.parametrize(
    ("language", "banner"),
    [
        ("en", "Test payment – no money moved"),
        ("ar", "دفعة تجريبية – لم يتم تحويل أي مبلغ"),
        ("he", "תשלום ניסיון – לא הועבר כסף"),
    ],
)
def test_test_money_is_called_so(sandbox: Sandbox, page: str, language: str, banner: str) -> None:
    text = show(page, sandbox, f"&lang={language}").content.decode()
    # Of what was never verified nobody knows whose money it is.
    assert (banner in text) == (page not in {"unknown", "unavailable"})


@each_page
def test_a_page_can_be_had_in_each_language_by_a_plain_link(sandbox: Sandbox, page: str) -> None:
    document = Document(show(page, sandbox))
    links = [link for link in document.all("a") if "hreflang" in link]
    assert [(link["hreflang"], link["lang"], link["dir"]) for link in links] == [
        ("en", "en", "ltr"),
        ("ar", "ar", "rtl"),
        ("he", "he", "rtl"),
    ]
    assert [link.get("aria-current") for link in links] == ["true", None, None]
    arabic = Document(visit(str(links[1]["href"])))
    assert arabic.all("html") == [{"lang": "ar", "dir": "rtl"}]
    assert arabic.inner("h1") != HEADINGS[page]
    assert re.search("[\u0600-\u06ff]", arabic.inner("h1"))
    assert document.text.count("Tea box") == arabic.text.count("Tea box")


def test_the_chosen_language_outlives_the_redirect_and_check_again(sandbox: Sandbox) -> None:
    reference = pay(sandbox, status="ongoing")
    document = Document(come(reference, "&lang=he"))
    assert document.all("html") == [{"lang": "he", "dir": "rtl"}]
    again = next(str(a["href"]) for a in document.all("a") if a.get("class") == "pp-button")
    assert Document(visit(again, follow=True)).all("html") == [{"lang": "he", "dir": "rtl"}]


@pytest.mark.parametrize(
    ("accept", "language"),
    [
        ("ar", "ar"),
        ("ar-JO,ar;q=0.9,en;q=0.8", "ar"),
        ("he-IL,he;q=0.9", "he"),
        ("fr-FR,fr;q=0.9,he;q=0.5", "he"),
        ("fr", "en"),
        ("", "en"),
        ("*;q=x,,;", "en"),
    ],
)
def test_the_browsers_language_is_taken(sandbox: Sandbox, accept: str, language: str) -> None:
    response = show("paid", sandbox, headers={"Accept-Language": accept})
    assert response.headers["Content-Language"] == language
    assert Document(response).all("html")[0]["lang"] == language


def test_the_payers_own_choice_wins_over_the_browsers(sandbox: Sandbox) -> None:
    response = show("paid", sandbox, "&lang=he", headers={"Accept-Language": "ar"})
    assert response.headers["Content-Language"] == "he"


@pytest.mark.parametrize("choice", ["fr", "AR", "ar-jo", "", "<script>", "ar&lang=xx", "%00"])
def test_a_choice_that_is_not_offered_is_passed_over(sandbox: Sandbox, choice: str) -> None:
    response = show("paid", sandbox, f"&lang={choice}")
    assert response.status_code == 200
    assert response.headers["Content-Language"] == "en"
    assert "<script>" not in response.content.decode().replace("<script src", "")


def test_without_translation_there_is_no_switch(
    sandbox: Sandbox, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process decides once for each function of Django's translation, which kind it takes.
    monkeypatch.setattr(translation, "_trans", type(translation._trans)())
    settings.USE_I18N = False
    document = Document(show("paid", sandbox, "&lang=ar"))
    assert document.all("nav") == []
    assert document.all("html")[0]["lang"] == "en"


def test_a_site_of_one_language_has_no_switch(sandbox: Sandbox, settings: Any) -> None:
    settings.LANGUAGES = [("ar", "Arabic"), ("fr", "French")]
    settings.LANGUAGE_CODE = "ar"
    document = Document(show("paid", sandbox, headers={"Accept-Language": "fr"}))
    assert document.all("nav") == []
    assert document.all("html") == [{"lang": "ar", "dir": "rtl"}]


TEXTS = {
    "NAME": {"en": "Olive & Sons", "ar": "زيتون وأبناؤه", "he": "זית ובניו"},
    "CONTACT": {"en": "help@shop.example.test", "ar": "https://shop.example.test/ar/"},
    "NEXT_STEPS": {"en": "We send it tomorrow.", "ar": "نرسلها غدا."},
}


@pytest.mark.parametrize(
    ("language", "name", "link", "next_step"),
    [
        ("en", "Olive &amp; Sons", "mailto:help@shop.example.test", "We send it tomorrow."),
        ("ar", "زيتون وأبناؤه", "https://shop.example.test/ar/", "نرسلها غدا."),
        # An address without Hebrew is the first one given; a sentence would be a foreign one.
        (
            "he",
            "זית ובניו",
            "mailto:help@shop.example.test",
            "תודה. ההזמנה הושלמה.",
        ),
    ],
)
def test_the_merchants_texts_come_in_the_payers_language(
    sandbox: Sandbox, configure: Any, language: str, name: str, link: str, next_step: str
) -> None:
    configure(MERCHANT=TEXTS)
    document = Document(show("paid", sandbox, f"&lang={language}"))
    assert name in document.inner("header")
    assert document.inner("title").endswith(f"– {name}")
    assert f">{next_step}</p>" in document.html
    assert link in [str(anchor["href"]).split("?subject=")[0] for anchor in document.all("a")]


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("help@shop.example.test", "mailto:help@shop.example.test"),
        ("https://shop.example.test/help", "https://shop.example.test/help"),
        ("+970 59 123 4567", None),
        ("http://shop.example.test/", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("mailto:x@shop.example.test", None),
        ("Shop, 1 Main Street", None),
        ('"><script>alert(1)</script>', None),
    ],
)
@each_page
def test_a_contact_is_on_every_page_and_a_link_where_it_safely_can_be(
    sandbox: Sandbox, configure: Any, page: str, contact: str, link: str | None
) -> None:
    configure(MERCHANT={"CONTACT": contact})
    document = Document(show(page, sandbox))
    assert contact in document.text
    links = [a for a in document.all("a") if "hreflang" not in a and "class" not in a]
    # A message's subject is the reference.
    places = [str(a["href"]).split("?subject=")[0] for a in links]
    assert places == ([link] if link else [])
    assert len(document.all("script")) == 1


def test_what_the_merchant_and_the_service_write_is_escaped(
    sandbox: Sandbox, configure: Any, tea_box: PaymentPage
) -> None:
    attack = "<img src=x onerror=alert(1)>"
    configure(MERCHANT={"NAME": attack, "NEXT_STEPS": attack, "CONTACT": attack})
    tea_box.name = attack
    tea_box.save()
    html = show("paid", sandbox).content.decode()
    assert "<img" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 5


def test_without_texts_of_the_merchant_their_places_are_empty(sandbox: Sandbox) -> None:
    document = Document(show("paid", sandbox))
    assert document.all("header") == []
    assert "pp-contact" not in document.html
    assert "Thank you. Your order is complete." in document.text
