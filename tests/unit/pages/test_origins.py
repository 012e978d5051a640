"""A page's redirect address can never be changed, so it is made of nothing uncertain."""

import uuid
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.core.checks import run_checks
from django.http import HttpResponse
from django.test import Client
from django.urls import include, path
from django.utils import translation
from django.utils.functional import lazy

from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage
from payments_pages.pages import callback_url, comes_back_here, create_page, is_origin, is_reserved
from payments_pages.pages.origins import return_origin
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import ADD, change_url, text

pytestmark = pytest.mark.django_db


class Prefixed:
    """URLs of a site that has the language in every address."""

    urlpatterns = i18n_patterns(
        path("admin/", admin.site.urls),
        path("payments/", include("payments_pages.urls")),
    )


class PrefixedButTheDefault:
    """URLs of a site that has every language but its own in the addresses."""

    urlpatterns = i18n_patterns(
        path("admin/", admin.site.urls),
        path("payments/", include("payments_pages.urls")),
        prefix_default_language=False,
    )


class Outside:
    """URLs of a site that keeps ours out of its languages, as README asks."""

    urlpatterns = [
        path("payments/", include("payments_pages.urls")),
        *i18n_patterns(path("admin/", admin.site.urls)),
    ]


def _in_its_language() -> str:
    return f"pay-{translation.get_language()}/"


class Translated:
    """URLs of a site that translates its paths."""

    urlpatterns = i18n_patterns(
        path("admin/", admin.site.urls),
        path(lazy(_in_its_language, str)(), include("payments_pages.urls")),
    )


class TranslatedWithoutPrefix:
    """URLs of a site that translates its paths, and has the language in a cookie."""

    urlpatterns = [
        path("admin/", admin.site.urls),
        path(lazy(_in_its_language, str)(), include("payments_pages.urls")),
    ]


def add(client: Client, url: str = ADD, **extra: Any) -> HttpResponse:
    fields = {"name": "Tea box", "amount": "100", "slug": "tea-box"}
    response: HttpResponse = client.post(url, fields, **extra)
    return response


@pytest.fixture
def unset(sandbox: Sandbox, configure: Any, settings: Any) -> Sandbox:
    """A site that does not say where it is."""
    configure(SITE_URL=None)
    settings.ALLOWED_HOSTS = ["*"]
    return sandbox


@pytest.mark.parametrize(
    ("host", "secure"),
    [
        ("shop.merchant.ps", False),
        ("10.0.0.7:8000", False),
        ("10.0.0.7", True),
        ("203.0.113.5", True),
        ("[2001:db8::1]", True),
        ("web", True),
        ("web:8000", False),
        ("0.0.0.0:8000", False),
    ],
)
def test_a_request_that_payers_cannot_follow_makes_no_page(
    unset: Sandbox, admin_client: Client, host: str, secure: bool
) -> None:
    """(D26)"""
    response = add(admin_client, headers={"host": host}, secure=secure)
    assert response.status_code == 200
    assert "SITE_URL" in text(response)
    assert 'value="Tea box"' in text(response), "what was typed is kept"
    assert unset.requests == []
    assert not PaymentPage.objects.exists()


@pytest.mark.parametrize(
    ("host", "secure", "origin"),
    [
        ("shop.merchant.ps", True, "https://shop.merchant.ps"),
        ("shop.merchant.ps:8443", True, "https://shop.merchant.ps:8443"),
        ("localhost:8000", False, "http://localhost:8000"),
        ("127.0.0.1:8000", False, "http://127.0.0.1:8000"),
        ("[::1]:8000", False, "http://[::1]:8000"),
    ],
)
def test_a_request_that_payers_can_follow_makes_a_page(
    unset: Sandbox, admin_client: Client, host: str, secure: bool, origin: str
) -> None:
    """(D26)"""
    response = add(admin_client, headers={"host": host}, secure=secure)
    assert response.status_code == 302, text(response)
    page = PaymentPage.objects.get()
    assert page.redirect_url == f"{origin}/payments/callback/{page.token}/"


def test_a_page_is_not_said_to_lead_elsewhere_by_a_request_that_does_not_know(
    unset: Sandbox, admin_client: Client
) -> None:
    page = create_page(name="Tea", amount=100, slug="tea", site_url="https://shop.merchant.ps")
    shown = text(admin_client.get(change_url(page), headers={"host": "10.0.0.7"}))
    assert "do not come back" not in shown
    shown = text(admin_client.get(change_url(page), headers={"host": "x.merchant.ps"}, secure=True))
    assert "do not come back" in shown


@pytest.mark.parametrize(
    "site_url",
    ["https://shop.merchant.ps/shop", "http://shop.merchant.ps", "shop.merchant.ps", "https://",
     "https://shop.merchant.ps/?a=b", "https://u:p@shop.merchant.ps", "https://a b.ps"],
)  # fmt: skip
def test_a_site_url_that_is_no_origin_makes_no_page(
    sandbox: Sandbox, configure: Any, admin_client: Client, site_url: str
) -> None:
    """(D13) Not every server runs the checks before it starts."""
    configure(SITE_URL=site_url)
    response = add(admin_client)
    assert response.status_code == 200
    assert "SITE_URL" in text(response)
    assert sandbox.requests == []


def test_a_sites_own_word_for_where_it_is_is_taken(sandbox: Sandbox, configure: Any) -> None:
    """Of a network behind a proxy, say: whoever writes it into the settings knows."""
    configure(SITE_URL="https://intranet/")
    page = create_page(name="Tea", amount=100, slug="tea")
    assert page.redirect_url.startswith("https://intranet/payments/callback/")


@pytest.mark.parametrize("site_url", ["https://shop.example", "https://www.example.com"])
def test_an_address_of_documentation_makes_no_live_page(
    sandbox: Sandbox, configure: Any, admin_client: Client, site_url: str
) -> None:
    """(F15) README's own line, copied as it stands."""
    sandbox.set_account(secret_key="sk_live_suite")
    configure(SECRET_KEY="sk_live_suite", SITE_URL=site_url)
    response = add(admin_client)
    assert response.status_code == 200
    assert site_url in text(response)
    assert sandbox.requests == []
    configure(SITE_URL="https://shop.merchant.ps")
    assert add(admin_client).status_code == 302


def test_a_test_page_may_be_made_with_it_and_a_check_says_so(
    sandbox: Sandbox, configure: Any, admin_client: Client
) -> None:
    """(F15)"""
    configure(SITE_URL="https://shop.example")
    assert add(admin_client).status_code == 302
    assert "payments_pages.W021" in {message.id for message in run_checks()}


@pytest.mark.parametrize("urls", [Prefixed, PrefixedButTheDefault, Outside])
def test_the_address_has_no_language_of_whoever_made_the_page(
    sandbox: Sandbox, admin_client: Client, settings: Any, urls: Any
) -> None:
    """(D09) It is the same for all, and payers of every language come back by it."""
    settings.ROOT_URLCONF = urls
    response = add(admin_client, url="/he/admin/payments_pages/paymentpage/add/")
    assert response.status_code == 302, text(response)
    page = PaymentPage.objects.get()
    prefix = "/en" if urls is Prefixed else ""
    assert page.redirect_url == f"https://testserver{prefix}/payments/callback/{page.token}/"
    for language in ("en", "ar", "he"):
        with translation.override(language):
            assert callback_url(page) == page.redirect_url
            address = change_url(page)
        shown = admin_client.get(address)
        assert page.redirect_url in text(shown)
        assert not any(str(page.token) in notice for notice in shown.context["notices"])


def test_an_older_page_with_a_language_in_its_address_still_comes_back(
    sandbox: Sandbox, admin_client: Client, settings: Any
) -> None:
    settings.ROOT_URLCONF = Prefixed
    page = create_page(name="Tea", amount=100, slug="tea")
    address = page.redirect_url.replace("/en/", "/he/")
    PaymentPage.objects.update(redirect_url=address)
    shown = text(admin_client.get(f"/en/admin/payments_pages/paymentpage/{page.pk}/change/"))
    assert "do not come back" not in shown


@pytest.mark.parametrize(
    ("urls", "warned"), [(Prefixed, True), (PrefixedButTheDefault, True), (Outside, False)]
)
def test_a_check_says_that_the_address_depends_on_the_language(
    settings: Any, urls: Any, warned: bool
) -> None:
    """(D09)"""
    settings.ROOT_URLCONF = urls
    found = {message.id for message in run_checks()}
    assert ("payments_pages.W022" in found) is warned


def test_deployment_asks_for_the_sites_own_address(configure: Any) -> None:
    """(D26)"""
    ids = {message.id for message in run_checks(include_deployment_checks=True)}
    assert "payments_pages.W020" not in ids
    configure(SITE_URL=None)
    ids = {message.id for message in run_checks(include_deployment_checks=True)}
    assert "payments_pages.W020" in ids
    assert "payments_pages.W020" not in {message.id for message in run_checks()}


def test_without_any_origin_it_is_said_what_to_set(configure: Any) -> None:
    configure(SITE_URL=None)
    with pytest.raises(PageError, match="Set SITE_URL"):
        return_origin()


@pytest.mark.parametrize(
    ("urls", "address", "same"),
    [
        (Outside, "https://a.ps/payments/callback/{token}/", True),
        (Outside, "https://a.ps/payments/callback/{token}", True),
        (Outside, "https://a.ps/he/payments/callback/{token}/", False),
        (Outside, "https://a.ps/payments/callback/{other}/", False),
        (Outside, "https://a.ps/payments/callback/", False),
        (Outside, "https://a.ps/payments/result/{token}/", False),
        (Outside, "http://a.ps/payments/callback/{token}/", False),
        (Outside, "https://b.ps/payments/callback/{token}/", False),
        (Outside, "https://[a.ps", False),
        (Outside, "", False),
        (Prefixed, "https://a.ps/en/payments/callback/{token}/", True),
        (Prefixed, "https://a.ps/he/payments/callback/{token}/", True),
        (Prefixed, "https://a.ps/ar/payments/callback/{token}", True),
        (Prefixed, "https://a.ps/xx/payments/callback/{token}/", False),
        (Prefixed, "https://a.ps/payments/callback/{token}/", False),
        (Prefixed, "https://a.ps/he/he/payments/callback/{token}/", False),
        (PrefixedButTheDefault, "https://a.ps/payments/callback/{token}/", True),
        (PrefixedButTheDefault, "https://a.ps/he/payments/callback/{token}/", True),
        (Translated, "https://a.ps/he/pay-he/callback/{token}/", True),
        (Translated, "https://a.ps/ar/pay-he/callback/{token}/", False),
        (TranslatedWithoutPrefix, "https://a.ps/pay-en/callback/{token}/", True),
        (TranslatedWithoutPrefix, "https://a.ps/pay-he/callback/{token}/", True),
        (TranslatedWithoutPrefix, "https://a.ps/pay-xx/callback/{token}/", False),
    ],
)
@pytest.mark.parametrize("language", ["en", "ar", "he"])
def test_f05_in_every_language_of_staff_the_callback_is_ours(
    settings: Any, configure: Any, urls: Any, address: str, same: bool, language: str
) -> None:
    settings.ROOT_URLCONF = urls
    configure(SITE_URL="https://a.ps")
    page = PaymentPage()
    page.redirect_url = address.format(token=page.token, other=uuid.uuid4())
    with translation.override(language):
        assert comes_back_here(page, callback_url(page)) is same
        assert translation.get_language() == language


@pytest.mark.parametrize(
    ("address", "origin", "reserved"),
    [
        ("https://shop.merchant.ps", True, False),
        ("https://shop.localhost", True, False),
        ("http://localhost:80", True, False),
        ("http://127.0.0.2", True, False),
        ("https://SHOP.EXAMPLE", True, True),
        ("https://a.b.example.net.", True, True),
        ("https://myexample.com", True, False),
        ("https://example.com.ps", True, False),
        ("https://shop.invalid:99999", False, True),
        ("https://[::1", False, False),
        ("ftp://shop.merchant.ps", False, False),
    ],
)
def test_addresses_are_told_apart(address: str, origin: bool, reserved: bool) -> None:
    assert is_origin(address) is origin
    assert is_reserved(address) is reserved
