"""Which of the site's languages a payer reads, on sites that set their languages otherwise."""

from typing import Any

import pytest
from django.conf import global_settings
from django.test import Client
from django.urls import reverse
from django.utils import translation

from payments_pages.sandbox import Sandbox
from tests.support.door_behaviour import pay
from tests.support.payer_pages import Document, show

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("tea_box")]


def offered(document: Document) -> list[str | None]:
    return [link["hreflang"] for link in document.all("a") if "hreflang" in link]


def language_of(sandbox: Sandbox, accept: str, query: str = "") -> str:
    response = show("paid", sandbox, query, headers={"Accept-Language": accept})
    (html,) = Document(response).all("html")
    assert response.headers["Content-Language"] == html["lang"]
    return str(html["lang"])


@pytest.mark.parametrize(
    ("codes", "links"),
    [
        ([code for code, _name in global_settings.LANGUAGES], ["ar", "en", "he"]),
        (["en-gb", "en-us", "ar"], ["en-gb", "ar"]),
        (["en-gb", "en", "ar-dz", "he"], ["en", "ar-dz", "he"]),
        (["fr", "de"], []),
        (["fr", "he"], []),
    ],
)
def test_d18_each_of_our_languages_is_offered_once(
    sandbox: Sandbox, settings: Any, codes: list[str], links: list[str]
) -> None:
    settings.LANGUAGES = [(code, code) for code in codes]
    settings.LANGUAGE_CODE = codes[0]
    assert offered(Document(show("paid", sandbox))) == links


@pytest.mark.parametrize(
    ("codes", "default", "accept", "language"),
    [
        # Before this rule, whoever had none of ours got the first language of the list.
        (["ar", "en", "he"], "en", "fr", "en"),
        (["ar", "en", "he"], "en-us", "fr", "en"),
        (["ar", "en", "he"], "he", "fr", "he"),
        # The second wish counts before the site's own language.
        (["fr", "ar", "en", "he"], "fr", "fr, he;q=0.8, en;q=0.5", "he"),
        (["fr", "ar", "en", "he"], "en", "fr, ar;q=0.8", "ar"),
        (["fr", "de"], "fr", "fr", "en"),
        (["fr", "ar"], "fr", "fr", "en"),
        (["fr", "ar"], "fr", "de, ar-jo", "ar"),
        (["en-gb", "ar"], "en-gb", "en-us", "en-gb"),
        (["en-gb", "ar"], "ar", "", "ar"),
    ],
)
def test_f2_the_next_wish_counts_then_the_sites_language_then_english(
    sandbox: Sandbox, settings: Any, codes: list[str], default: str, accept: str, language: str
) -> None:
    settings.LANGUAGES = [(code, code) for code in codes]
    settings.LANGUAGE_CODE = default
    assert language_of(sandbox, accept) == language


def test_the_cookie_of_the_shop_counts_before_the_browser(sandbox: Sandbox, settings: Any) -> None:
    browser = Client(headers={"Accept-Language": "ar"})
    browser.cookies[settings.LANGUAGE_COOKIE_NAME] = "he"
    query = {"reference": pay(sandbox)}
    response = browser.get(reverse("payments_pages:callback"), query, follow=True)
    assert response.headers["Content-Language"] == "he"


@pytest.mark.parametrize("language", ["en", "ar", "he"])
def test_d09_a_page_below_a_language_is_in_it_and_a_payer_goes_to_their_own(
    sandbox: Sandbox, settings: Any, language: str
) -> None:
    settings.ROOT_URLCONF = "tests.support.urls_by_language"
    with translation.override("he"):  # staff made the page in the Hebrew admin
        back = reverse("payments_pages:callback")
    payer = Client(headers={"Accept-Language": language})
    response = payer.get(back, {"reference": pay(sandbox)})
    assert response.status_code == 303
    assert response.headers["Location"].startswith(f"/{language}/payments/result/")
    result = payer.get(response.headers["Location"])
    assert result.headers["Content-Language"] == language
    for other in ("en", "ar", "he"):
        # Somebody was sent the address, and prefers another language.
        address = response.headers["Location"].replace(f"/{language}/", f"/{other}/")
        assert payer.get(address).headers["Content-Language"] == other
    links = [link for link in Document(result).all("a") if "hreflang" in link]
    for link in links:
        assert str(link["href"]).startswith(f"/{link['hreflang']}/payments/result/")
        assert payer.get(str(link["href"])).headers["Content-Language"] == link["hreflang"]
