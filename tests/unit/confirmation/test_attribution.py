"""What a transaction pays for: where each step looks, and what it ignores."""

import uuid
from typing import Any

import pytest

from payments_pages.choices import Attributed
from payments_pages.confirmation import STEPS
from payments_pages.confirmation.attribution import Attribution, Evidence, attribute, expectation_of
from payments_pages.confirmation.policy import Expectation, Offer
from payments_pages.models import PaymentPage
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from tests.conftest import expect_payment, mirror_another

pytestmark = pytest.mark.django_db

ALL = ("expected", "metadata", "callback", "amount")
DEFAULT = ("expected", "metadata", "callback")


def evidence(reference: str = "PPG-1", **fields: Any) -> Evidence:
    usual = {"amount": 10000, "currency": "ILS", "metadata": {}, "page_hint": None}
    return Evidence(
        reference=reference, reference_key=reference_key(reference), **{**usual, **fields}
    )


def found(steps: tuple[str, ...] = DEFAULT, **fields: Any) -> Attribution:
    return attribute(evidence(**fields), steps)


def test_nothing_known_is_no_attribution(tea_box: PaymentPage) -> None:
    assert found() == Attribution()
    assert expectation_of(Attribution(), "key") is None


def test_the_page_of_the_callback_is_found_by_its_token(tea_box: PaymentPage) -> None:
    answer = found(page_hint=tea_box.token)
    assert (answer.by, answer.page) == (Attributed.CALLBACK, tea_box)
    assert expectation_of(answer, "key") == Expectation(
        amount=10000, currency="ILS", offer=Offer(domain="test")
    )


def test_a_token_that_no_page_has_is_no_claim(tea_box: PaymentPage) -> None:
    assert found(page_hint=uuid.uuid4()) == Attribution()


def test_an_expected_payment_is_found_by_its_very_reference(tea_box: PaymentPage) -> None:
    expected = expect_payment("PPG-1", 500, currency="JOD")
    answer = found()
    assert (answer.by, answer.expected, answer.page) == (Attributed.EXPECTED, expected, None)
    assert expectation_of(answer, "key") == Expectation(amount=500, currency="JOD")
    assert found(reference="ppg-1") == Attribution()


def test_a_row_whose_reference_differs_is_not_believed(tea_box: PaymentPage) -> None:
    expected = expect_payment("PPG-1")
    expected.reference = "PPG-2"
    expected.save()
    assert found() == Attribution()


def test_an_expected_payment_already_paid_by_another_is_told(tea_box: PaymentPage) -> None:
    expected = expect_payment("PPG-1", paid_by_key="another")
    wanted = expectation_of(Attribution(by=Attributed.EXPECTED, expected=expected), "key")
    assert wanted is not None
    assert wanted.paid_by_other
    mine = expectation_of(Attribution(by=Attributed.EXPECTED, expected=expected), "another")
    assert mine is not None
    assert not mine.paid_by_other


@pytest.mark.parametrize("value", [18, "18", "018"])
def test_metadata_names_a_page_by_number(tea_box: PaymentPage, value: object) -> None:
    assert tea_box.remote_id == 18
    assert found(metadata={"page_id": value}).page == tea_box


@pytest.mark.parametrize("key", ["slug", "page_slug"])
def test_metadata_names_a_page_by_slug_exactly(tea_box: PaymentPage, key: str) -> None:
    answer = found(metadata={key: "tea-box"})
    assert (answer.by, answer.page) == (Attributed.METADATA, tea_box)
    assert found(metadata={key: "Tea-Box"}) == Attribution()
    assert found(metadata={key: "tea-box "}) == Attribution()


def test_metadata_names_a_page_by_our_token(tea_box: PaymentPage) -> None:
    assert found(metadata={"payments_pages_token": str(tea_box.token)}).page == tea_box


def test_the_referrer_names_a_page_below_our_pay_url(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    here = sandbox.pay_url
    for address in (
        f"{here}/tea-box",
        f"{here}/tea-box/",
        f"{here}/tea-box?a=1",
        f"{here}/tea%2Dbox",
    ):
        assert found(metadata={"referrer": address}).page == tea_box, address
    host = here.split("//")[1]
    for address in (
        "https://shop.example.test/tea-box",  # in a popup it is the merchant's own page
        f"https://{host}/tea-box",
        f"{here}.evil.example/tea-box",
        f"{here}x/tea-box",
        f"http://evil.example/{here}/tea-box",
        f"http://user@{host}/tea-box",
        f"{here}/../tea-box",
        f"{here}/",
        here,
        "http://[::1",
        "",
        17,
        ["x"],
    ):
        assert found(metadata={"referrer": address}) == Attribution(), address


@pytest.mark.parametrize(
    "value",
    ["", "x" * 5000, "9" * 5000, "0" * 20 + "9" * 5000, "9" * 19, 2**70, -18, 18.0, True, None,
     [], {}, [18], {"id": 18}, "١٨", "\u0000", "18\u0000", "tea\ud800box".encode("utf-8", "replace").decode()],
)  # fmt: skip
@pytest.mark.parametrize("key", ["page_id", "payments_pages_token", "slug", "referrer"])
def test_odd_metadata_names_nothing_and_raises_nothing(
    tea_box: PaymentPage, key: str, value: object
) -> None:
    """The payer's browser writes metadata in popup flows: no value may stop the path."""
    assert found(metadata={key: value}) == Attribution()


def test_the_first_answer_wins_and_agreement_is_no_conflict(tea_box: PaymentPage) -> None:
    answer = found(metadata={"slug": "tea-box"}, page_hint=tea_box.token)
    assert (answer.by, answer.page, answer.conflict) == (Attributed.METADATA, tea_box, False)


def test_two_sources_that_name_different_pages_are_a_conflict(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    other = mirror_another(sandbox, slug="other", amount=10000)
    answer = found(metadata={"slug": "tea-box"}, page_hint=other.token)
    assert (answer.page, answer.conflict) == (tea_box, True)
    wanted = expectation_of(answer, "key")
    assert wanted is not None
    assert wanted.conflict
    expect_payment("PPG-1", page=tea_box)
    assert found(page_hint=other.token).conflict
    assert found(page_hint=other.token).by is Attributed.EXPECTED


def test_an_expected_payment_without_a_page_leaves_the_page_open(tea_box: PaymentPage) -> None:
    expect_payment("PPG-1")
    answer = found(page_hint=tea_box.token)
    assert (answer.by, answer.conflict) == (Attributed.EXPECTED, False)


def test_the_price_is_no_evidence_unless_it_is_asked_for(tea_box: PaymentPage) -> None:
    assert found(DEFAULT) == Attribution()
    answer = found(ALL)
    assert (answer.by, answer.page) == (Attributed.AMOUNT, tea_box)
    assert found(ALL, currency="ils").page == tea_box
    for other in ({"amount": 9999}, {"currency": "JOD"}, {"amount": None}):
        assert found(ALL, **other) == Attribution()


def test_the_price_tells_nothing_when_two_pages_share_it(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    other = mirror_another(sandbox, slug="other", amount=10000)
    assert found(ALL) == Attribution()
    PaymentPage.objects.filter(pk=other.pk).update(active=False)
    assert found(ALL).page == tea_box


def test_a_guess_by_price_does_not_contradict_a_statement(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    other = mirror_another(sandbox, slug="other", amount=500)
    answer = found(ALL, page_hint=other.token)
    assert (answer.by, answer.page, answer.conflict) == (Attributed.CALLBACK, other, False)


def test_every_step_has_its_name() -> None:
    assert set(STEPS) == set(ALL)
