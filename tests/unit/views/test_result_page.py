"""What a payer sees: nine pages, nothing personal, nothing from elsewhere."""

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.template.loader import get_template
from django.template.loader_tags import BlockNode, ExtendsNode
from django.test import Client
from django.urls import reverse

import payments_pages
from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.views.rendering import PAGES, RETURNED
from tests.support.door_behaviour import CARD, PERSONAL, pay
from tests.support.payer_pages import HEADINGS, Document, come, each_page, show, visit
from tests.support.webhook_signing import said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("tea_box")]

STATIC = Path(payments_pages.__file__).parent / "static" / "payments_pages"
BLOCKS = {
    "title", "styles", "extra_head", "header", "banner", "mark", "heading", "message", "details",
    "next", "contact", "languages", "scripts",
}  # fmt: skip


def test_every_outcome_has_one_of_nine_pages() -> None:
    assert set(PAGES) == set(Outcome)
    assert {*PAGES.values(), RETURNED} == set(HEADINGS)


@each_page
def test_a_page_says_its_outcome_in_title_and_heading(sandbox: Sandbox, page: str) -> None:
    response = show(page, sandbox)
    assert response.status_code == (404 if page == "unknown" else 200)
    document = Document(response)
    assert document.inner("h1") == HEADINGS[page]
    assert document.inner("title").startswith(HEADINGS[page])
    assert [len(document.all(tag)) for tag in ("h1", "main", "title")] == [1, 1, 1]
    assert document.all("html") == [{"lang": "en", "dir": "ltr"}]
    assert response.headers["Content-Language"] == "en"


@each_page
def test_a_page_holds_nothing_personal(sandbox: Sandbox, page: str) -> None:
    response = show(page, sandbox)
    text = response.content.decode() + str(response.headers)
    for word in (*PERSONAL, *CARD.values()):
        assert word not in text


@each_page
def test_a_page_has_no_style_or_script_of_its_own_and_nothing_from_elsewhere(
    sandbox: Sandbox, page: str
) -> None:
    document = Document(show(page, sandbox))
    assert document.all("style") == []
    for _tag, attributes in document.elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert not (attributes.get("http-equiv"))
        assert "javascript:" not in str(attributes.get("href"))
    scripts = document.all("script")
    assert [script["src"] for script in scripts] == ["/static/payments_pages/result.js"]
    assert document.inner("script") == ""
    links = [link["href"] for link in document.all("link")]
    assert links == ["/static/payments_pages/icon.svg", "/static/payments_pages/result.css"]


@each_page
def test_every_page_carries_the_headers(sandbox: Sandbox, page: str) -> None:
    headers = show(page, sandbox).headers
    assert headers["Cache-Control"] == "no-store, private"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Robots-Tag"] == "noindex, nofollow"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    assert "Accept-Language" in headers["Vary"]


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("https://cdn.example.test/site/", "https://cdn.example.test"),
        ("//cdn.example.test/site/", "https://cdn.example.test"),
        ("http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
        ("/assets/", "'self'"),
        ("assets/", "'self'"),
    ],
)
def test_static_files_on_another_host_are_let_in_by_name(
    sandbox: Sandbox, settings: Any, address: str, source: str
) -> None:
    settings.STATIC_URL = address
    response = show("paid", sandbox)
    policy = response.headers["Content-Security-Policy"]
    assert f"script-src {source}; img-src" in policy
    for kind in ("img", "style"):
        assert set(re.findall(rf"{kind}-src ([^;]*);", policy)[0].split()) == {"'self'", source}
    sheet = str(Document(response).all("link")[1]["href"])
    assert sheet.startswith(address if "//" in address else f"/{address.lstrip('/')}")


def test_a_site_with_a_policy_of_its_own_keeps_it(sandbox: Sandbox, settings: Any) -> None:
    settings.MIDDLEWARE = [f"{__name__}.OwnPolicy", *settings.MIDDLEWARE]
    assert show("paid", sandbox).headers["Content-Security-Policy"] == "default-src 'self'"


class OwnPolicy:
    """A site's own middleware that sets one policy everywhere."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        response = self.get_response(request)
        response.headers["Content-Security-Policy"] = "default-src 'self'"
        return response


def test_the_record_has_amount_page_reference_and_time_with_its_zone(sandbox: Sandbox) -> None:
    reference = pay(sandbox, paid_at="2024-10-25T22:30:00.000Z")
    document = Document(come(reference))
    details = re.sub(r"[ \n]+", " ", document.inner("dl"))
    assert '<bdi dir="ltr">100.00\u00a0ILS</bdi>' in details
    assert '<dd dir="auto">Tea box</dd>' in details
    assert f'<bdi dir="ltr">{reference}</bdi>' in details
    # Case C63: near a change of clocks, in the site's zone and by its name.
    words = "26 October 2024, 01:30 (Hebron time, UTC+3)"
    assert f'<time datetime="2024-10-26T01:30:00+03:00">{words}</time>' in details


@pytest.mark.parametrize("paid_at", [None, "", "soon", "0000-00-00"])
def test_a_time_that_is_none_is_left_out(sandbox: Sandbox, paid_at: str | None) -> None:
    assert "<time" not in Document(come(pay(sandbox, paid_at=paid_at))).html


def test_an_amount_that_cannot_be_read_is_left_out(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    sandbox.set_transaction(reference, amount="plenty")
    response = come(reference)
    assert response.status_code == 200
    assert "plenty" not in response.content.decode()


def test_real_money_carries_no_banner(sandbox: Sandbox, configure: Any) -> None:
    configure(MODE="live", ATTRIBUTION=("amount",))
    PaymentPage.objects.update(domain="live")
    response = come(pay(sandbox, domain="live"))
    assert Document(response).inner("h1") == HEADINGS["paid"]
    assert "pp-banner" not in response.content.decode()


def test_blocks_are_a_contract() -> None:
    template = get_template("payments_pages/base.html").template  # type: ignore[attr-defined]
    assert {block.name for block in template.nodelist.get_nodes_by_type(BlockNode)} == BLOCKS


@each_page
def test_a_page_fills_blocks_of_the_frame_and_makes_none_of_its_own(page: str) -> None:
    template = get_template(f"payments_pages/{page}.html").template  # type: ignore[attr-defined]
    (extends,) = template.nodelist.get_nodes_by_type(ExtendsNode)
    assert {"title", "mark", "heading", "message", "next"} == set(extends.blocks)
    assert str(extends.parent_name) == '"payments_pages/base.html"'


def test_trying_again_is_offered_while_the_page_is_open(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    address = f"{sandbox.pay_url}/tea-box"
    assert address in Document(show("not_paid", sandbox)).html
    tea_box.active = False
    tea_box.save()
    assert address not in Document(show("not_paid", sandbox)).html


@pytest.mark.parametrize("page", ["processing", "unavailable", "unknown", "not_paid"])
def test_what_may_change_can_be_asked_about_again_without_a_script(
    sandbox: Sandbox, page: str
) -> None:
    document = Document(show(page, sandbox))
    address = reverse("payments_pages:callback")
    assert [a for a in document.all("a") if str(a["href"]).startswith(f"{address}?reference=")]


@pytest.mark.parametrize("page", ["processing", "preparing", "unavailable", "rejected"])
def test_a_payer_who_may_have_paid_is_told_not_to_pay_again(sandbox: Sandbox, page: str) -> None:
    assert "Do not pay again" in Document(show(page, sandbox)).inner("strong")


def test_the_printed_page_is_the_record_without_its_buttons() -> None:
    sheet = (STATIC / "result.css").read_text()
    (printed,) = re.findall(r"@media print \{(.*)\n\}", sheet, re.DOTALL)
    hidden = re.search(r"([^{}]*)\{ display: none; \}", printed)
    assert hidden is not None
    assert ".pp-next" in hidden[1]
    assert ".pp-languages" in hidden[1]
    assert "--ink: #000" in printed


def test_the_stylesheet_knows_no_left_and_no_right_and_no_other_place() -> None:
    sheet = (STATIC / "result.css").read_text()
    assert not re.findall(r"\b(left|right|margin-top|padding-bottom|width:)\b", sheet)
    assert not re.findall(r"url\(|@import|https?:", sheet)


def test_the_result_page_tells_its_script_where_to_ask(sandbox: Sandbox) -> None:
    document = Document(show("processing", sandbox))
    (main,) = document.all("main")
    assert main["data-page"] == "processing"
    answer = visit(str(main["data-watch"]))
    assert said(answer) == {"outcome": "pending", "page": "processing"}
    assert answer.headers["Cache-Control"] == "no-store, private"
    (line,) = [line for line in document.all("p") if line.get("role") == "status"]
    assert line["data-changed"]
    assert line["data-still"]


def test_status_is_a_read_that_asks_nothing(sandbox: Sandbox) -> None:
    reference = pay(sandbox, status="ongoing")
    confirm_payment(reference, door=Door.CONFIRM)
    sandbox.set_transaction(reference, status="success")
    token = Transaction.objects.get().token
    address = reverse("payments_pages:result-status", args=[token])
    for _time in range(5):
        assert said(visit(address))["outcome"] == "pending"
    assert visit(reverse("payments_pages:result", args=[token])).status_code == 200
    assert sandbox.verify_calls() == 1


def test_a_token_that_stands_for_nothing_is_404(sandbox: Sandbox) -> None:
    page = visit(reverse("payments_pages:result", args=[uuid4()]))
    assert (page.status_code, Document(page).inner("h1")) == (404, HEADINGS["unknown"])
    status = visit(reverse("payments_pages:result-status", args=[uuid4()]))
    assert (status.status_code, said(status)) == (404, {"outcome": "unknown"})


@pytest.mark.parametrize("name", ["result", "result-status"])
@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_a_result_is_only_looked_at(sandbox: Sandbox, name: str, method: str) -> None:
    address = reverse(f"payments_pages:{name}", args=[uuid4()])
    answer = getattr(Client(enforce_csrf_checks=True), method)(address)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_c48_a_bookmark_shows_what_is_true_now(sandbox: Sandbox) -> None:
    reference = pay(sandbox, amount=1)
    confirm_payment(reference, door=Door.CONFIRM)
    address = reverse("payments_pages:result", args=[Transaction.objects.get().token])
    assert Document(visit(address)).inner("h1") == HEADINGS["checking"]
    Fulfilment.objects.update(state=FulfilmentState.DELIVERED)
    sandbox.faults.add(operation="verify", kind="drop")
    for _time in range(5):
        assert Document(visit(address)).inner("h1") == HEADINGS["paid"]
    Fulfilment.objects.update(state=FulfilmentState.REJECTED)
    assert Document(visit(address)).inner("h1") == HEADINGS["rejected"]


@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example", "//evil.example", "////evil.example", "https:evil.example",
        "javascript:alert(1)", "\\\\evil.example", "/ok/",
    ],
)  # fmt: skip
def test_c50_no_address_in_the_query_is_ever_gone_to(
    sandbox: Sandbox, tea_box: PaymentPage, place: str
) -> None:
    metadata = {"page_slug": "tea-box", "return_to": "https://evil.example"}
    reference = pay(sandbox, metadata=metadata)
    query = dict.fromkeys(("next", "url", "redirect_url", "return_to", "callback_url"), place)
    address = reverse("payments_pages:callback")
    answer = Client().get(address, {"reference": reference, **query})
    token = Transaction.objects.get().token
    assert answer.status_code == 303
    assert answer.headers["Location"] == reverse("payments_pages:result", args=[token])
    assert b"evil" not in Client().get(answer.headers["Location"]).content


def test_c49_no_session_is_needed_or_made(sandbox: Sandbox, settings: Any) -> None:
    settings.SESSION_COOKIE_SAMESITE = "Strict"
    login = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, login]
    client = Client()
    address = reverse("payments_pages:callback")
    answer = client.get(address, {"reference": pay(sandbox)}, follow=True)
    assert Document(answer).inner("h1") == HEADINGS["paid"]
    assert not client.cookies


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "1000-01-01T00:00:00Z"])
def test_a_time_at_the_end_of_the_calendar_does_not_close_the_page(
    sandbox: Sandbox, tea_box: PaymentPage, client: Client, moment: str
) -> None:
    reference = sandbox.pay("tea-box", paid_at=moment)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.transaction is not None
    answer = client.get(reverse("payments_pages:result", args=[found.transaction.token]))
    assert answer.status_code == 200
    assert Document(answer).inner("h1") == HEADINGS["paid"]
