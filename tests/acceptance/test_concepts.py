"""The page that explains the words says what the code does, and its picture has the code's steps."""

import datetime as dt
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from payments_pages import testing
from payments_pages.choices import FulfilmentState, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass, run_sweep
from tests.support.goods.models import Good
from tests.support.guide_pages import ROOT, GuidePage

PAGE = GuidePage("concepts.md")
DESIGN = (ROOT / "docs" / "design.md").read_text()
PICTURE = ROOT / "docs" / "path.svg"
SVG = "{http://www.w3.org/2000/svg}"

STATES = {
    row[0].strip("`"): row[1:]
    for row in re.findall(r"^\| (`\w+`) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE.text, re.MULTILINE)
}


def heading_of(token: Any) -> str:
    page = Client().get(reverse("payments_pages:result", args=[token])).content.decode()
    (heading,) = re.findall(r"<h1>(.*?)</h1>", page)
    return str(heading)


def test_the_words_that_the_design_has_too_are_among_its_words() -> None:
    table = DESIGN.split("## Words")[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    design = {word for cell in cells for word in cell.split(", ")}
    here = {row[0] for row in PAGE.rows("## The words")}
    assert here - design == {"payer", "payment", "mode", "webhook", "held", "sweep"}


def test_the_states_are_those_of_the_code() -> None:
    assert list(STATES) == FulfilmentState.values
    asked = [row[0].strip("`") for row in PAGE.rows("## What happens to one payment")]
    assert asked == VerificationState.values


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", FulfilmentState.values)
def test_a_payer_reads_in_each_state_what_the_table_says(
    state: str, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    visit = testing.pay(sandbox, tea_box)
    Fulfilment.objects.update(state=state)
    payment = Transaction.objects.get(reference=visit.reference)
    assert heading_of(payment.token) == STATES[state][1]


@pytest.mark.django_db(transaction=True)
def test_the_other_sentences_for_payers_are_those_of_the_pages() -> None:
    folder = ROOT / "payments_pages" / "templates" / "payments_pages"
    told = {
        match[1]
        for path in folder.glob("*.html")
        if (match := re.search(r'block title %\}\{% translate "(.*?)"', path.read_text()))
    }
    section = PAGE.section("## What happens to one payment")
    quoted = {" ".join(text.split()) for text in re.findall(r'"([A-Z].*?)"', section, re.DOTALL)}
    assert quoted | {cells[1] for cells in STATES.values()} == told


@pytest.mark.django_db(transaction=True)
def test_a_delivery_is_tried_twelve_times_by_the_sweep_and_then_held(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    assert "twelve times" in STATES["failed"][2]
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    visit = testing.pay(sandbox, tea_box)
    for _attempt in range(11):
        assert Fulfilment.objects.get().state == "failed"
        run_sweep(after=2 * 3600)
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == ("held", 12) == ("held", conf.max_attempts)
    assert visit.outcome == "held"


@pytest.mark.django_db(transaction=True)
def test_whoever_dies_while_asking_is_followed_by_another_after_a_minute(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    sandbox.faults.add(operation="verify", kind="drop", times=2)
    reference = sandbox.pay("tea-box")
    testing.come_back(reference, page=tea_box)
    Verification.objects.update(
        state="verifying", next_at=timezone.now() + dt.timedelta(seconds=conf.lease)
    )
    run_sweep(after=50)
    assert Good.objects.count() == 0
    run_sweep(after=11)
    assert Good.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_reference_lapses_after_three_days_and_is_asked_about_when_it_is_named_again(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    visit = testing.pay(sandbox, tea_box, status="failed")
    for _half_day in range(5):
        run_sweep(after=12 * 3600)
    assert Verification.objects.get().state == "due"
    for _half_day in range(3):
        run_sweep(after=12 * 3600)
    assert Verification.objects.get().state == "lapsed"
    calls = sandbox.verify_calls()
    confirm_payment(visit.reference)
    assert sandbox.verify_calls() == calls + 1


@pytest.mark.django_db(transaction=True)
def test_what_a_browser_says_is_not_believed(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    reference = sandbox.pay("tea-box", status="failed")
    body = {"reference": reference, "paid": True, "status": "success", "amount": 10000}
    answer = Client().post("/payments/confirm/", body, content_type="application/json")
    assert (answer.status_code, Good.objects.count()) == (402, 0)
    let_time_pass(3)
    address = reverse("payments_pages:page-callback", args=[tea_box.token])
    Client().get(address, {"reference": reference, "status": "success"})
    assert Good.objects.count() == 0


# The picture


def texts() -> set[str]:
    return {node.text or "" for node in ET.parse(PICTURE).iter(f"{SVG}text")}


def test_the_picture_has_a_background_a_title_and_a_description_of_its_own() -> None:
    root = ET.parse(PICTURE).getroot()
    named = root.attrib["aria-labelledby"].split()
    assert root.attrib["role"] == "img"
    assert [root.find(f"{SVG}{name}[@id='{name}']") is not None for name in named] == [True, True]
    background = next(node for node in root if node.tag == f"{SVG}rect")
    width, height = root.attrib["viewBox"].split()[2:]
    assert (background.attrib["width"], background.attrib["height"]) == (width, height)
    assert background.attrib["fill"] == "#ffffff"
    assert PICTURE.stat().st_size < 6000
    (alternative,) = re.findall(r"!\[(.*?)\]\(path\.svg\)", PAGE.text)
    assert len(alternative) > 100


def test_the_picture_names_doors_and_outcomes_by_the_words_of_the_page() -> None:
    shown = " ".join(texts())
    for word in ("Doors", "reference", "Verify", "Decide", "handler", "once", "held", "sweep"):
        assert word in shown
        assert word.lower().removesuffix("s") in PAGE.text.lower()
    for door in ("payer comes back", "webhook", "popup or app", "staff", "sweep"):
        assert door in shown
