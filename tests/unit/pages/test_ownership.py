"""Whose page a page is: by staff's word, or by where it sends payers, in Python and in the database."""

from typing import Any

import pytest

from payments_pages.models import ELSEWHERE, PaymentPage, this_site
from payments_pages.models.ownership import is_sold_here

pytestmark = pytest.mark.django_db


def page(redirect_url: str, seller: str = "", *, made_here: bool = False) -> PaymentPage:
    number = PaymentPage.objects.count()
    return PaymentPage.objects.create(
        name="Page",
        slug_key=f"{number}",
        redirect_url=redirect_url,
        seller=seller,
        made_here=made_here,
    )


def agree(site: str, redirect_url: str, *, seller: str = "", made_here: bool = False) -> bool:
    """Ask Python and the database, which must say the same."""
    row = page(redirect_url, seller, made_here=made_here)
    here = PaymentPage.objects.sold_here().filter(pk=row.pk).exists()
    elsewhere = PaymentPage.objects.sold_elsewhere().filter(pk=row.pk).exists()
    assert here is not elsewhere, (site, redirect_url)
    assert row.sold_here is here, (site, redirect_url)
    return here


OURS = [
    ("https://shop.example", ""),
    ("https://shop.example", "https://shop.example/payments/callback/1/"),
    ("https://shop.example", "https://shop.example"),
    ("https://shop.example", "https://shop.example?from=page"),
    ("https://shop.example", "https://shop.example#paid"),
    ("https://shop.example/", "https://SHOP.example/thanks"),
    ("https://Shop.Example", "https://shop.example/thanks"),
    ("https://shop.example", "https://shop.example:443/thanks"),
    ("https://shop.example:443", "https://shop.example/thanks"),
    ("https://shop.example", "http://shop.example/thanks"),  # the site has gone over to https
    ("https://shop.example", "https://shop.example./thanks"),
    ("http://127.0.0.1:8000", "http://127.0.0.1:8000/payments/callback/1/"),
    ("http://[::1]:8000", "http://[::1]:8000/thanks"),
    ("https://xn--mgbh0fb.example", "https://مثال.example/thanks"),
    ("https://مثال.example", "https://xn--mgbh0fb.example/thanks"),
    ("https://مثال.example", "https://مثال.example/thanks"),
]
NOT_OURS = [
    ("https://shop.example", "https://other.example/payments/callback/1/"),
    ("https://shop.example", "https://shop-example/thanks"),
    ("https://shop.example", "https://shopxexample/thanks"),
    ("https://shop.example", "https://staging.shop.example/thanks"),
    ("https://staging.shop.example", "https://shop.example/thanks"),
    ("https://shop.example", "https://shop.example.evil.example/thanks"),
    ("https://shop.example", "https://shop.example@evil.example/thanks"),
    ("https://shop.example", "https://evil.example/https://shop.example/"),
    ("https://shop.example", "https://shop.example:8443/thanks"),
    ("https://shop.example:8443", "https://shop.example/thanks"),
    ("http://127.0.0.1:8000", "http://127.0.0.1:9000/thanks"),
    ("https://shop.example", "//shop.example/thanks"),
    ("https://shop.example", "ftp://shop.example/thanks"),
    ("https://shop.example", "shop://done"),
    ("https://shop.example", "https:///thanks"),
    ("https://shop.example", "https://[::1/thanks"),
    ("https://shop.example", "https://\u017fhop.example/thanks"),
    ("https://shop.example", "nonsense"),
]


@pytest.mark.parametrize(("site", "redirect_url"), OURS)
def test_a_page_that_sends_its_payers_to_this_site_is_sold_here(
    configure: Any, site: str, redirect_url: str
) -> None:
    configure(SITE_URL=site)
    assert agree(site, redirect_url)


@pytest.mark.parametrize(("site", "redirect_url"), NOT_OURS)
def test_a_page_that_sends_its_payers_anywhere_else_is_another_sites(
    configure: Any, site: str, redirect_url: str
) -> None:
    configure(SITE_URL=site)
    assert not agree(site, redirect_url)


def test_what_staff_said_goes_before_the_address_and_counts_on_that_site_alone(
    configure: Any,
) -> None:
    configure(SITE_URL="https://shop.example")
    said = this_site()
    assert agree("", "https://other.example/", seller=said)
    assert not agree("", "https://shop.example/", seller=ELSEWHERE)
    assert not agree("", "", seller=ELSEWHERE)
    configure(SITE_URL="https://staging.example")
    assert not agree("", "https://other.example/", seller=said)
    assert not agree("", "https://staging.example/", seller=said)
    configure(SITE_URL=None)
    assert not agree("", "", seller=said)


@pytest.mark.parametrize(
    ("hosts", "redirect_url", "ours"),
    [
        (["shop.example"], "https://shop.example/payments/callback/1/", True),
        (["a.example", "Shop.Example"], "http://shop.example:8000/", True),
        (["shop.example"], "https://other.example/", False),
        (["shop.example"], "", True),
        # A wildcard is no name: nobody can tell.
        (["*"], "https://shop.example/", False),
        ([".shop.example"], "https://shop.example/", False),
        (["*"], "", True),
        ([], "http://localhost:8000/", False),
    ],
)
def test_without_site_url_this_site_is_what_allowed_hosts_names_in_full(
    configure: Any, settings: Any, hosts: list[str], redirect_url: str, ours: bool
) -> None:
    configure(SITE_URL=None)
    settings.ALLOWED_HOSTS = hosts
    assert agree("", redirect_url) is ours


def test_on_a_developers_machine_it_is_the_hosts_that_django_allows(
    configure: Any, settings: Any
) -> None:
    configure(SITE_URL=None)
    settings.ALLOWED_HOSTS, settings.DEBUG = [], True
    for ours in ("http://localhost:8000/", "http://127.0.0.1:8000/x", "http://[::1]/"):
        assert agree("", ours)
    assert not agree("", "https://shop.example/")


@pytest.mark.parametrize("site", ["shop.example", "https://", "https://[::1", "nonsense"])
def test_a_malformed_site_url_names_no_site(configure: Any, settings: Any, site: str) -> None:
    configure(SITE_URL=site)
    settings.ALLOWED_HOSTS = []
    assert this_site() == ""
    assert not is_sold_here("https://shop.example/", "", made_here=False)
    assert is_sold_here("", "", made_here=False)


@pytest.mark.parametrize("made_here", [True, False])
def test_who_had_it_made_counts_only_where_no_address_can_tell(
    configure: Any, settings: Any, made_here: bool
) -> None:
    configure(SITE_URL="https://staging.example")
    assert not agree("", "https://shop.example/callback/", made_here=made_here)
    configure(SITE_URL=None)
    settings.ALLOWED_HOSTS = ["*"]
    assert agree("", "https://shop.example/callback/", made_here=made_here) is made_here
    assert not agree("", "https://shop.example/", made_here=made_here, seller=ELSEWHERE)
