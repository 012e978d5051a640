"""The hosted pages speak the payer's language, in its direction."""

import re

import pytest

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.choices import CHOICES
from payments_pages.sandbox.languages import LANGUAGES, Language
from tests.unit.sandbox.payer import Page, Payer

WORDS = {"en": ("ltr", "Pay"), "ar": ("rtl", "ادفع"), "he": ("rtl", "תשלום")}


def look(payer: Payer, accepted: str = "", query: str = "") -> str:
    url = f"{payer.sandbox.pay_url}/tea{query}"
    return payer.session.get(url, headers={"Accept-Language": accepted}).text


@pytest.mark.parametrize(
    ("accepted", "query", "expected"),
    [
        ("", "", "en"),
        ("ar", "", "ar"),
        ("he-IL,en;q=0.5", "", "he"),
        ("fr,ar;q=0.3", "", "ar"),
        ("fr", "", "en"),
        ("ar", "?lang=he", "he"),
        ("ar", "?lang=xx", "ar"),
    ],
)
def test_the_browser_or_the_payer_chooses(
    sandbox: Sandbox, payer: Payer, accepted: str, query: str, expected: str
) -> None:
    sandbox.add_page(slug="tea", amount=100)
    text = look(payer, accepted, query)
    direction, pay = WORDS[expected]
    assert f'<html lang="{expected}" dir="{direction}">' in text
    assert f'value="pay">{pay}</button>' in text


def test_the_links_to_other_languages_keep_what_the_address_says(
    sandbox: Sandbox, payer: Payer
) -> None:
    sandbox.add_page(slug="tea", amount=100)
    links = Page(look(payer, "ar", "?reference=A%261&lang=he")).links
    assert links == [f"?reference=A%261&lang={code}" for code in ("en", "ar", "he")]


@pytest.mark.parametrize("code", ["ar", "he"])
def test_what_follows_a_choice_is_in_the_language_of_the_form(
    sandbox: Sandbox, payer: Payer, code: str
) -> None:
    back = "https://shop.example/back/"
    sandbox.add_page(name="شاي", slug="tea", amount=None, redirect_url=back)
    url = f"{sandbox.pay_url}/tea?lang={code}"
    for values in ({}, {"email": "rana"}, {"choice": "decline"}, {"choice": "close"}):
        form = {"email": "rana@example.test", "choice": "pay", "amount": "5", **values}
        answer = payer.session.post(url, data=form, allow_redirects=False)
        if answer.status_code == 303:
            continue
        assert f'<html lang="{code}"' in answer.text
        seen = re.sub(r"rana@?\S*|payer@example.test|ILS|English", "", Page(answer.text).text)
        english = re.findall(r"[A-Za-z]{2,}", seen.replace(_reference(sandbox), ""))
        assert english == [], answer.text


def _reference(sandbox: Sandbox) -> str:
    return str(sandbox.state.transactions()[-1].data["reference"])


@pytest.mark.parametrize("language", [LANGUAGES["ar"], LANGUAGES["he"]])
def test_every_button_and_every_ending_is_translated(language: Language) -> None:
    for choice in CHOICES.values():
        for text in (choice.label, choice.title, choice.text):
            assert language.gettext(text) != text
