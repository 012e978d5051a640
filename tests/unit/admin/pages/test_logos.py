"""A logo is an image at an https address, and is seen in the admin as payers see it."""

import pytest
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import ADD, add, change_url, sent, text

pytestmark = pytest.mark.django_db

LOGO = "https://shop.example/l.png?a=1&b=2"


def logo_row(client: Client, page: PaymentPage) -> str:
    shown = text(client.get(change_url(page)))
    return shown[shown.index("field-logo_image") :].split("field-extra")[0]


@pytest.mark.parametrize(
    "typed",
    ["http://shop.example/l.png", "ftp://shop.example/l.png", "javascript:alert(1)", "l .png"],
)
def test_an_address_that_a_browser_would_not_show_is_refused(
    staff: Client, sandbox: Sandbox, typed: str
) -> None:
    response = add(staff, logo=typed)
    (words,) = response.context["adminform"].form.errors["logo"]
    assert words == "Enter an address that begins with https://."
    assert sandbox.requests == []


def test_an_address_without_a_scheme_is_an_https_one(staff: Client, sandbox: Sandbox) -> None:
    assert add(staff, logo="shop.example/l.png").status_code == 302
    assert sent(sandbox, "POST")[0]["metadata"]["logo_url"] == "https://shop.example/l.png"


def test_the_page_shows_the_image_and_tells_its_server_nothing(
    staff: Client, tea_box: PaymentPage
) -> None:
    PaymentPage.objects.update(metadata={"logo_url": LOGO})
    row = logo_row(staff, tea_box)
    escaped = LOGO.replace("&", "&amp;")
    assert f'src="{escaped}"' in row
    assert 'alt="Logo"' in row
    assert 'referrerpolicy="no-referrer"' in row
    assert f'<a href="{escaped}"' in row


@pytest.mark.parametrize(
    "url", ["http://shop.example/l.png", "data:image/png;base64,x", "https://[x"]
)
def test_no_other_address_is_loaded(staff: Client, tea_box: PaymentPage, url: str) -> None:
    PaymentPage.objects.update(metadata={"logo_url": url})
    row = logo_row(staff, tea_box)
    assert url in row
    assert "<img" not in row
    assert ("Browsers may not show it" in row) is url.startswith("http:")


def test_the_redirect_address_is_text_and_no_link(staff: Client, tea_box: PaymentPage) -> None:
    there = "https://elsewhere.example/x"
    PaymentPage.objects.update(
        redirect_url=there, drift={"redirect_url": "https://ours.example/y"}, seller=""
    )
    shown = text(staff.get(change_url(tea_box)))
    assert shown.count(there) >= 2, "in its field and in the drift"
    for url in (there, "https://ours.example/y"):
        assert f'href="{url}' not in shown


def test_the_form_has_a_place_for_the_preview(staff: Client) -> None:
    shown = text(staff.get(ADD))
    assert '<div class="pp-logo-box"' in shown
    assert "payments_pages/logo.js" in shown
