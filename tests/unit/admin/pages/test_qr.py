"""A QR code leads to the page, is black on white in any theme, and is never one that misleads."""

import io
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import zxingcpp
from django.test import Client
from django.utils import timezone
from PIL import Image

from payments_pages.admin.pages import qr
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_another
from tests.support.pages_admin import LIST, change_url, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(live: Sandbox) -> PaymentPage:
    return mirror_another(live, slug="tea-box", amount=10000)


def read(image: bytes) -> str:
    """Read a code as a phone does, from its dots."""
    with Image.open(io.BytesIO(image)) as picture:
        found = zxingcpp.read_barcodes(picture.convert("L"))
    assert len(found) == 1
    return str(found[0].text)


def address(page: PaymentPage, kind: str, query: str = "") -> str:
    return f"{LIST}{page.pk}/qr.{kind}{query}"


def test_the_png_leads_to_the_page_and_is_big_enough_for_print(
    page: PaymentPage, staff: Client, live: Sandbox
) -> None:
    response = staff.get(address(page, "png", "?download"))
    assert response["Content-Type"] == "image/png"
    assert response["Content-Disposition"] == f'attachment; filename="qr-{page.pk}.png"'
    assert read(response.content) == f"{live.pay_url}/tea-box"
    with Image.open(io.BytesIO(response.content)) as picture:
        assert min(picture.size) >= 600
        edge = {picture.convert("L").getpixel((x, 10)) for x in range(picture.width)}
        assert edge == {255}, "a quiet zone, white in any theme"


def test_the_svg_has_a_white_ground_under_black_modules(page: PaymentPage, staff: Client) -> None:
    response = staff.get(address(page, "svg"))
    assert response["Content-Type"] == "image/svg+xml"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "Content-Disposition" not in response
    drawing = ET.fromstring(response.content)
    fills = [
        part.get("fill") or part.get("stroke") for part in drawing.iter() if part is not drawing
    ]
    assert {"#fff", "#000"} <= set(fills)
    assert b"<script" not in response.content
    assert "attachment" in staff.get(address(page, "svg", "?download"))["Content-Disposition"]


def test_the_detail_shows_it_with_a_name_and_both_downloads(
    page: PaymentPage, staff: Client
) -> None:
    shown = text(staff.get(change_url(page)))
    assert f'src="{address(page, "svg")}"' in shown
    assert 'alt="QR code of the public address of Another"' in shown
    for kind in ("svg", "png"):
        assert f'href="{address(page, kind)}?download"' in shown


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"active": False}, "nobody can pay on an inactive page"),
        ({"missing_since": timezone.now()}, "does not have this page any more"),
        ({"remote_id": None}, "has not confirmed this page"),
    ],
)
def test_what_nobody_can_pay_on_has_a_reason_in_place_of_a_code(
    page: PaymentPage, staff: Client, fields: dict[str, Any], reason: str
) -> None:
    PaymentPage.objects.update(**fields)
    shown = text(staff.get(change_url(page)))
    assert reason in shown
    assert "pp-qr" not in shown
    for kind in ("svg", "png"):
        assert staff.get(address(page, kind)).status_code == 404


def test_a_test_page_has_a_warning_and_nothing_to_print(
    tea_box: PaymentPage, staff: Client
) -> None:
    shown = text(staff.get(change_url(tea_box)))
    assert "Print no code of it" in shown
    assert "qr.png" not in shown
    for query in ("", "?download"):
        assert staff.get(address(tea_box, "png", query)).status_code == 404


@pytest.mark.parametrize(("language", "note"), [("en", "TEST: no real money"), ("ar", "اختبار")])
def test_the_code_of_a_test_page_says_in_words_what_it_is(
    tea_box: PaymentPage, staff: Client, language: str, note: str
) -> None:
    response = staff.get(
        address(tea_box, "svg", "?download"), headers={"accept-language": language}
    )
    assert response["Content-Disposition"] == f'attachment; filename="qr-test-{tea_box.pk}.svg"'
    drawing = ET.fromstring(response.content)
    (text,) = (part for part in drawing.iter() if part.tag.endswith("}text"))
    assert note in str(text.text)
    ground = drawing[0]
    assert (ground.get("fill"), ground.get("d")) == (
        "#fff",
        f"M0 0h{drawing.get('width')}v{drawing.get('height')}h-{drawing.get('width')}z",
    ), "white below the words, too"


def test_the_list_leads_to_the_code_of_what_can_be_paid_on_alone(
    page: PaymentPage, staff: Client, live: Sandbox
) -> None:
    link = f'href="{address(page, "svg")}?download"'
    shown = text(staff.get(LIST))
    assert link in shown
    assert 'aria-label="QR code of Another: Download as SVG"' in shown
    for dead in ({"active": False}, {"missing_since": timezone.now()}, {"remote_id": None}):
        PaymentPage.objects.update(
            **{"active": True, "missing_since": None, "remote_id": page.remote_id, **dead}
        )
        shown = text(staff.get(LIST))
        assert link not in shown, dead
        assert "data-copy=" not in shown.split('id="result_list"')[1], dead
        assert f'href="{live.pay_url}/tea-box"' in shown, "but its address is known"


def test_only_who_may_see_pages_gets_one(
    page: PaymentPage, person: Callable[..., Client], staff: Client
) -> None:
    assert person("view_transaction").get(address(page, "svg")).status_code == 403
    assert person("view_paymentpage").get(address(page, "svg")).status_code == 200
    assert Client().get(address(page, "svg")).status_code == 302
    assert staff.post(address(page, "svg")).status_code == 405
    assert staff.get(address(page, "gif")).status_code == 404
    assert staff.get(f"{LIST}999/qr.svg").status_code == 404


def test_without_the_library_there_is_no_code_and_no_dead_link(
    page: PaymentPage, staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qr, "LIBRARY", "not_installed_here")
    shown = text(staff.get(change_url(page)))
    # A token in a hidden field may hold any two letters.
    main = re.sub(r' value="[^"]*"', "", shown[shown.index('id="content-main"') :])
    assert "qr" not in main.lower()
    assert staff.get(address(page, "svg")).status_code == 404
