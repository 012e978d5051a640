"""The page of symptoms knows every check, reason, outcome, payer's page and log record of the code."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from payments_pages import testing
from payments_pages.choices import Outcome, Reason
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import run_sweep
from payments_pages.views.rendering import PAGES, RETURNED
from tests.support.goods.models import Good
from tests.support.guide_pages import ROOT, GuidePage, parse_command
from tests.support.webhook_signing import HEADER, SECRET
from tests.unit.test_observability import documented as documented_records
from tests.unit.test_public_lists import documented as documented_checks

PAGE = GuidePage("troubleshooting.md")
TEMPLATES = ROOT / "payments_pages" / "templates" / "payments_pages"


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


# The lists


def test_every_check_is_named_once() -> None:
    named = [name for row in PAGE.rows("## What `manage.py check` says") for name in codes(row[0])]
    assert sorted(named) == [f"payments_pages.{name}" for name in documented_checks()]


def test_every_reason_of_a_hold_is_named_by_code_and_label_in_the_order_of_the_code() -> None:
    rows = [(codes(code)[0], label) for code, label, _do in PAGE.rows("## Why a payment is held")]
    assert rows == [(one.value, str(one.label)) for one in Reason if one is not Reason.NONE]
    assert all(do.strip() for *_rest, do in PAGE.rows("## Why a payment is held"))


def test_every_page_of_the_payer_is_named_with_its_title_and_its_outcomes() -> None:
    titles = {}
    for name in {*PAGES.values(), RETURNED}:
        text = (TEMPLATES / f"{name}.html").read_text()
        (titles[name],) = re.findall(r'block title %\}\{% translate "(.*?)"', text)
    rows = PAGE.rows("## What the payer sees")
    assert {codes(page)[0]: title for title, page, *_rest in rows} == titles
    assert len(rows) == len(titles) == 9
    told = {codes(page)[0]: set(codes(outcomes)) for _title, page, outcomes, _why in rows}
    assert told.pop(RETURNED) == set()
    expected: dict[str, set[str]] = {}
    for outcome, name in PAGES.items():
        expected.setdefault(name, set()).add(str(outcome))
    assert told == expected
    assert {one for outcomes in told.values() for one in outcomes} == set(Outcome.values)


def test_every_log_record_is_named_once() -> None:
    named = [name for row in PAGE.rows("## What the log says") for name in codes(row[0])]
    assert sorted(named) == sorted(documented_records())
    symptoms = PAGE.section("## Frequent symptoms")
    prefixes = {name.split(".")[0] for name in documented_records()}
    for name in re.findall(r"`([a-z]+\.[a-z_]+)(?::[^`]*)?`", symptoms):
        if name.split(".")[0] in prefixes and name != "fulfilment.idempotency_key":
            assert name in documented_records()


def test_each_link_to_a_part_of_this_page_leads_to_a_heading() -> None:
    headings = {slug(title) for title in re.findall(r"^#+ (.+)$", PAGE.text, re.MULTILINE)}
    links = re.findall(r"\]\(#([^)]+)\)", PAGE.text)
    assert links
    assert set(links) <= headings


def test_each_command_is_real() -> None:
    for words in PAGE.manage_lines():
        parse_command(words)
    for name, options in re.findall(r"`(payments_pages_\w+)((?: --[\w-]+)*)`", PAGE.text):
        parse_command([name, *options.split()])


GUIDES = ("concepts.md", "production.md", "go-live.md", "troubleshooting.md", "recipes.md")


@pytest.mark.parametrize("name", GUIDES)
def test_each_word_of_the_admin_in_italics_is_one_that_staff_read(name: str) -> None:
    """What is translated for staff is what they read; the catalogue has all of it."""
    catalogue = (ROOT / "payments_pages/locale/ar/LC_MESSAGES/django.po").read_text()
    shown = {text.lower() for text in re.findall(r'^msgid "(.+)"$', catalogue, re.MULTILINE)}
    text = re.sub(r"```.*?```", "", GuidePage(name).text, flags=re.DOTALL)
    named = re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", text)
    assert {" ".join(words.split()).lower() for words in named} <= shown


# The symptoms are made


@pytest.fixture
def webhook(db: None, open_webhook: None) -> str:
    return reverse("payments_pages:webhook")


def statuses(heading: str) -> set[int]:
    return {int(number) for number in re.findall(r"\b[45]\d\d\b", heading)}


@pytest.mark.django_db(transaction=True)
def test_the_reasons_of_a_401_are_in_the_log(
    webhook: str, configure: Any, caplog: pytest.LogCaptureFixture
) -> None:
    written = {codes(row[0])[0] for row in PAGE.rows("### The webhook answers 401")}
    seen = set()

    def post(signature: str | None, **keys: Any) -> None:
        configure(**keys)
        caplog.clear()
        headers = {HEADER: signature} if signature else {}
        answer = Client().post(webhook, b"{}", content_type="application/json", headers=headers)
        assert answer.status_code == 401
        message = caplog.messages[0]
        seen.add(message if message.startswith("webhook.refused") else message.split(":")[0])

    post(None)
    post("0" * 64)
    post("0" * 64, WEBHOOK_HEADER=None)
    assert seen == written


@pytest.mark.django_db(transaction=True)
def test_a_404_is_not_ours_and_a_405_is(webhook: str) -> None:
    assert (
        Client().post("/payments/hook/", b"{}", content_type="application/json").status_code == 404
    )
    answer = Client().get(webhook)
    assert answer.status_code == 405
    assert "X-Robots-Tag" in answer.headers
    assert statuses("### The webhook answers 404 or 405, or redirects") == {404, 405}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("cause", ["not yet", "down", "key", "handler"])
def test_a_503_asks_for_the_event_again_for_each_cause(
    cause: str, webhook: str, sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(ATTRIBUTION=("amount",), WEBHOOK_SECRETS=(SECRET,))
    reference = sandbox.pay("tea-box", status="pending" if cause == "not yet" else "success")
    if cause in {"down", "key"}:
        status = 503 if cause == "down" else 401
        sandbox.faults.add(
            operation="verify", kind="status", status=status, times=2 if cause == "down" else 1
        )
    if cause == "handler":
        configure(HANDLER="tests.support.goods.handlers.fail_first")
    assert testing.send_webhook(reference).status_code == 503
    if cause == "not yet":
        sandbox.set_transaction(reference, status="success")
    run_sweep(after=60)
    assert Good.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_hold_without_a_page_ends_when_the_payer_comes_back_or_the_page_is_mirrored(
    sandbox: Sandbox, tea_box: PaymentPage, open_webhook: None, configure: Any
) -> None:
    reference = sandbox.pay("tea-box")
    testing.send_webhook(reference)
    assert Fulfilment.objects.get().reason == Reason.UNATTRIBUTED
    testing.come_back(reference)  # the plain callback names no page
    assert Fulfilment.objects.get().reason == Reason.UNATTRIBUTED
    testing.come_back(reference, page=tea_box)
    assert Fulfilment.objects.get().state == "delivered"
    configure(ATTRIBUTION=("expected", "metadata", "callback", "amount"))
    sandbox.add_page(name="New", slug="new", amount=7700)
    testing.send_webhook(sandbox.pay("new"))
    assert Fulfilment.objects.filter(reason=Reason.UNATTRIBUTED).count() == 1
    from payments_pages.pages import sync_pages

    sync_pages()
    run_sweep()
    assert Fulfilment.objects.filter(state="delivered").count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_refused_key_loses_nobody_s_payment(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    key = "sk_test_suite"
    configure(SECRET_KEY="sk_test_old")
    visit = testing.pay(sandbox, tea_box)
    assert visit.response is not None
    assert "We cannot confirm your payment right now" in visit.response.content.decode()
    assert Transaction.objects.count() == 0
    configure(SECRET_KEY=key)
    run_sweep(after=60)
    assert Good.objects.count() == 1
