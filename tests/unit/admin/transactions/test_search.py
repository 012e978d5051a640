"""What staff type into the search box, and what it finds."""

import re

import pytest
from django.test import Client

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from tests.unit.admin.transactions.conftest import SignIn
from tests.unit.admin.transactions.test_list import LIST, change, listed

pytestmark = pytest.mark.django_db


@pytest.fixture
def payment(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """One confirmed payment by somebody of whom the service says everything."""
    reference = sandbox.pay(
        "tea-box",
        reference="PPG-8mYJoa",
        email="layla.n@example.test",
        customer={
            "first_name": "Layla",
            "last_name": "Nasser",
            "email": "layla.n@example.test",
            "phone": "+970599876543",
        },
        authorization={"last4": "7731", "brand": "visa"},
    )
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.pay("tea-box", reference="other", email="other@example.test")
    confirm_payment("other", door=Door.CALLBACK, page_token=tea_box.token)
    return Transaction.objects.get(reference=reference)


FOUND = [
    "PPG-8mY", "ppg-8MYJOA", "layla.", "LAYLA N", "Layla  Nasser", "nas", "7731",
    "0599876543", "+970 59 987-6543", "٠٥٩٩٨٧٦٥٤٣",
]  # fmt: skip
NOT_FOUND = [
    "8mYJoa", "ayla", "773", "77310", "9876543", "0599876544", "%", "_ayla", "Nasser Layla",
    "PPG-8mYJoa-",
]  # fmt: skip


@pytest.mark.parametrize("typed", FOUND)
def test_a_payment_is_found_by_what_its_payer_says(
    staff: Client, payment: Transaction, typed: str
) -> None:
    assert listed(staff.get(LIST, {"q": typed})) == [payment.reference]


@pytest.mark.parametrize("typed", NOT_FOUND)
def test_nothing_else_is_found(staff: Client, payment: Transaction, typed: str) -> None:
    assert listed(staff.get(LIST, {"q": typed})) == []


@pytest.mark.parametrize("typed", FOUND)
def test_who_may_not_see_customers_finds_references_alone(
    viewer: Client, payment: Transaction, typed: str
) -> None:
    found = [payment.reference] if typed.lower().startswith("ppg") else []
    assert listed(viewer.get(LIST, {"q": typed})) == found


def test_a_whole_reference_still_leads_straight_to_its_payment(
    viewer: Client, payment: Transaction
) -> None:
    found = viewer.get(LIST, {"q": "PPG-8mYJoa"})
    assert found.headers["Location"] == change(payment)


def test_who_searches_is_told_for_what_and_by_a_line_that_a_reader_hears(
    staff: Client, viewer: Client, payment: Transaction
) -> None:
    for client, says in ((staff, "last four digits"), (viewer, "beginning of a reference")):
        page = client.get(LIST).content.decode()
        box = re.search(r'<input type="text"[^>]*id="searchbar"[^>]*>', page)
        assert box
        (line,) = re.findall(r'aria-describedby="([\w-]+)"', box[0])
        hint = re.search(rf'id="{line}">([^<]*)<', page)
        assert hint
        assert says in hint[1]
    assert "e-mail" not in hint[1]


def test_the_found_payers_are_named(staff: Client, viewer: Client, payment: Transaction) -> None:
    assert "Layla Nasser" in staff.get(LIST, {"q": "nasser"}).content.decode()
    assert "Layla Nasser" not in viewer.get(LIST, {"q": "ppg-8my"}).content.decode()
    assert "L. N." not in viewer.get(LIST, {"q": "ppg-8my"}).content.decode()


def test_what_is_not_found_may_be_asked_about(
    sign_in: SignIn, staff: Client, viewer: Client, payment: Transaction
) -> None:
    asked = re.search(r'<a href="([^"]*verify/\?[^"]*)"', html(staff, "PPG-404"))
    assert asked
    form = staff.get(asked[1]).content.decode()
    assert re.search(r'<input[^>]*name="reference"[^>]*value="PPG-404"|value="PPG-404"[^>]*', form)
    assert "verify/?" not in html(staff, "no reference at all")
    assert "verify/?" not in html(viewer, "PPG-404")
    assert "verify/?" in html(sign_in("view_transaction", "verify_transaction"), "PPG-404")
    assert "verify/?" not in html(staff, "nasser")


def test_what_was_typed_is_shown_escaped(staff: Client, payment: Transaction) -> None:
    page = html(staff, 'PPG-"><b>x')
    assert "<b>x" not in page


def html(client: Client, typed: str) -> str:
    return str(client.get(LIST, {"q": typed}).content.decode())
