"""What a payer is told of each outcome, in each language: the truth, and the money first."""

from itertools import product
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import translation

from payments_pages.choices import Outcome
from payments_pages.confirmation import Confirmation
from payments_pages.models import PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.views.rendering import RETURNED, page_of
from tests.support.headings import HEADINGS
from tests.support.payer_pages import Document, come, show, visit

LANGUAGES = ("en", "ar", "he")

# Each row: the page, and what its text must and must not say, in the order of LANGUAGES.
DO_NOT_PAY = ("Do not pay again", "عدم الدفع مرة أخرى", "אין לשלם שוב")
DONE = ("complete.", "اكتمل", "הושלמה.")
DO_NOTHING = ("You do not need to do anything", "لا يلزمك فعل أي شيء", "אין צורך לעשות דבר")
CONTACT_US = ("ontact us", "تواصل معنا", "פנו אלינו")
IF_CHARGED = ("If your bank shows a charge", "إذا ظهر خصم", "אם הבנק מציג חיוב")
NOT_DELIVERED = ("We did not deliver", "لم نسلّم", "לא סיפקנו")
REVERSED = ("was reversed", "قد أُعيد", "הוחזר")

TRUTH: dict[str, tuple[str, list[tuple[str, str, str]], list[tuple[str, str, str]]]] = {
    Outcome.DELIVERED: ("paid", [DONE], [DO_NOTHING, IF_CHARGED]),
    Outcome.ALREADY_DELIVERED: ("paid", [DONE], [DO_NOTHING, IF_CHARGED]),
    Outcome.DELIVERING: ("preparing", [DO_NOT_PAY], [DONE, IF_CHARGED]),
    Outcome.DELIVERY_FAILED: ("preparing", [DO_NOT_PAY], [DONE, IF_CHARGED]),
    Outcome.PENDING: ("processing", [DO_NOT_PAY], [DONE]),
    Outcome.HELD: ("checking", [DO_NOT_PAY, DO_NOTHING], [DONE]),
    Outcome.REJECTED: ("rejected", [NOT_DELIVERED, DO_NOT_PAY, CONTACT_US], [DONE, DO_NOTHING]),
    Outcome.NOT_PAID: ("not_paid", [IF_CHARGED, CONTACT_US], [DONE, DO_NOTHING]),
    Outcome.UNKNOWN: ("unknown", [DO_NOT_PAY], [DONE, DO_NOTHING]),
    Outcome.UNAVAILABLE: ("unavailable", [DO_NOT_PAY], [DONE, DO_NOTHING]),
}
OF_REVERSED = (RETURNED, [REVERSED, CONTACT_US], [DONE, DO_NOTHING, DO_NOT_PAY])


def rows() -> list[tuple[str, str, Any]]:
    """Every outcome with a payment that is paid, and with one that was reversed."""
    table = [(outcome, "success", TRUTH[outcome]) for outcome in Outcome]
    # Without a transaction there is nothing that could have been reversed.
    no_payment = {Outcome.UNKNOWN, Outcome.UNAVAILABLE}
    table += [
        (outcome, "reversed", OF_REVERSED) for outcome in Outcome if outcome not in no_payment
    ]
    return table


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("outcome", "status", "truth"), rows())
def test_each_outcome_is_told_truly(
    language: str, outcome: str, status: str, truth: Any, settings: Any
) -> None:
    page, told, untold = truth
    transaction = Transaction(reference="PPG-1", status=status, amount=100, currency="ILS")
    has_payment = outcome not in {Outcome.UNKNOWN, Outcome.UNAVAILABLE}
    found = Confirmation(
        outcome=Outcome(outcome),
        reference="PPG-1",
        transaction=transaction if has_payment else None,
    )
    assert page_of(found) == page
    with translation.override(language):
        context = {"page": page, "reference": "PPG-1", "may_have_paid": True}
        request = RequestFactory().get("/")
        text = render_to_string(f"payments_pages/{page}.html", context, request)
    assert HEADINGS[language][page] in text
    words = LANGUAGES.index(language)
    assert [
        sentence[words] for sentence in told if sentence[words].lower() not in text.lower()
    ] == []
    assert [sentence[words] for sentence in untold if sentence[words] in text] == []


@pytest.mark.django_db
@pytest.mark.usefixtures("tea_box")
@pytest.mark.parametrize(
    "query", ["", "?reference=", "?reference=%D8%B9", "?reference=a&reference=b"]
)
def test_who_comes_without_a_readable_reference_is_told_not_to_pay_again(
    sandbox: Sandbox, query: str
) -> None:
    response = visit(f"/payments/callback/{query}")
    assert response.status_code == 400
    assert "do not pay again. Contact us" in Document(response).inner("strong")
    assert sandbox.verify_calls() == 0


@pytest.mark.django_db
def test_a_token_that_is_nobodys_says_nothing_of_paying() -> None:
    response = visit("/payments/result/00000000-0000-4000-8000-000000000000/")
    assert response.status_code == 404
    assert "pay again" not in Document(response).text


@pytest.mark.django_db
def test_a_declined_payer_is_offered_two_ways_that_do_not_sound_alike(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    document = Document(show("not_paid", sandbox))
    ways = {a["class"]: a["href"] for a in document.all("a") if "class" in a}
    assert ways["pp-button"] == f"{sandbox.pay_url}/tea-box"
    assert "reference=" in str(ways["pp-link"])
    assert "Pay again" in document.text
    assert "Already paid? Look again" in document.text


@pytest.mark.django_db
def test_a_reversed_payment_keeps_telling_so_after_it_was_delivered(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    first = show("returned", sandbox)
    assert Document(first).inner("h1") == HEADINGS["en"]["returned"]
    reference = Transaction.objects.get().reference
    again = Document(come(reference))
    assert again.inner("h1") == HEADINGS["en"]["returned"]
    assert "complete" not in again.text
    status = visit(f"/payments/result/{Transaction.objects.get().token}/status/").json()
    assert status == {"outcome": "already_delivered", "page": "returned"}


def test_the_table_has_every_outcome() -> None:
    assert set(TRUTH) == set(Outcome)
    assert len(rows()) == len(list(product(Outcome, ["success", "reversed"]))) - 2


@pytest.mark.django_db
@pytest.mark.usefixtures("tea_box")
@pytest.mark.parametrize("page", sorted(HEADINGS["en"]))
def test_only_what_is_paid_says_when(sandbox: Sandbox, page: str) -> None:
    paid = page in {"paid", "preparing", "checking", "rejected", "returned"}
    assert ("Paid at" in Document(show(page, sandbox)).text) is paid
