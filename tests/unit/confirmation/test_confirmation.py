"""The whole path for one reference, over real HTTP to the sandbox: the cases people reported."""

from typing import Any

import pytest
from django.db import connection
from django.db import transaction as db_transaction
from django.test.utils import CaptureQueriesContext

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason, VerificationState
from payments_pages.client import get_client
from payments_pages.confirmation import (
    Confirmation,
    confirm_payment,
    confirm_payment_on_commit,
    describe,
    refuse_other_site,
    sweep_due,
)
from payments_pages.db import foreign_keys_lock
from payments_pages.exceptions import InvalidReference, OpenTransactionError
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db

at_once = pytest.mark.django_db(transaction=True)
"""For tests whose rivals are on other connections, or whose commits count."""


def confirm(
    reference: str, page: PaymentPage | None = None, door: Door = Door.CALLBACK, **more: Any
) -> Confirmation:
    token = page.token if page else None
    return confirm_payment(reference, door=door, page_token=token, **more)


def held(reason: Reason) -> bool:
    row = Fulfilment.objects.get()
    return (row.state, row.reason) == (FulfilmentState.HELD, reason) and not Good.objects.exists()


NOT_SUCCESS = {
    "failed": Outcome.NOT_PAID, "abandoned": Outcome.NOT_PAID, "reversed": Outcome.NOT_PAID,
    "pending": Outcome.PENDING, "ongoing": Outcome.PENDING, "queued": Outcome.PENDING,
    "Success": Outcome.PENDING, "success ": Outcome.PENDING, "SUCCESS": Outcome.PENDING,
    "successful": Outcome.PENDING, "": Outcome.PENDING, "true": Outcome.PENDING,
}  # fmt: skip


@pytest.mark.parametrize(("status", "outcome"), NOT_SUCCESS.items())
def test_c03_a_call_that_worked_is_not_a_payment_that_did(
    tea_box: PaymentPage, sandbox: Sandbox, status: str, outcome: Outcome
) -> None:
    sandbox.pay("tea-box", reference="PPG-1003", status=status)
    found = confirm("PPG-1003", tea_box)
    assert found.outcome is outcome
    assert Transaction.objects.get().status == status
    assert not Fulfilment.objects.exists()
    assert not Good.objects.exists()
    assert describe(Transaction.objects.get()).outcome is outcome


@pytest.mark.parametrize("envelope", [{"status": "true"}, {"status": 1}, {"status": None}])
def test_c03_a_call_whose_own_status_is_not_exactly_true_did_not_work(
    tea_box: PaymentPage, sandbox: Sandbox, envelope: dict[str, Any]
) -> None:
    sandbox.pay("tea-box", reference="PPG-1003")
    sandbox.faults.add(operation="verify", kind="patch", envelope=envelope)
    assert confirm("PPG-1003", tea_box).outcome is Outcome.UNAVAILABLE
    assert not Transaction.objects.exists()


@at_once
@pytest.mark.parametrize("way", ["door", "another door", "sweep"])
def test_c16_pending_first_and_success_later_is_delivered(
    tea_box: PaymentPage, sandbox: Sandbox, way: str
) -> None:
    sandbox.pay("tea-box", reference="PPG-1016", status="pending")
    assert confirm("PPG-1016", tea_box).outcome is Outcome.PENDING
    assert not Fulfilment.objects.exists(), "what is pending does not occupy the delivery"
    sandbox.set_transaction("PPG-1016", status="success")
    let_time_pass(8)
    if way == "sweep":
        assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    else:
        door = Door.CALLBACK if way == "door" else Door.WEBHOOK
        assert confirm("PPG-1016", door=door).outcome is Outcome.DELIVERED
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert Fulfilment.objects.get().transaction.page == tea_box


@at_once
@pytest.mark.parametrize("first", ["failed", "abandoned"])
def test_c16_a_payment_that_failed_may_still_be_made(
    tea_box: PaymentPage, sandbox: Sandbox, first: str
) -> None:
    sandbox.pay("tea-box", reference="PPG-1016", status=first)
    assert confirm("PPG-1016", tea_box).outcome is Outcome.NOT_PAID
    sandbox.pay("tea-box", reference="PPG-1016")
    let_time_pass(8)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1


@at_once
def test_c28a_unknown_first_and_paid_later_is_delivered(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    assert confirm("PPG-1029", tea_box).outcome is Outcome.UNKNOWN
    assert not Transaction.objects.exists(), "a made-up reference leaves no payment behind"
    assert Verification.objects.get().state == VerificationState.UNKNOWN
    sandbox.pay("tea-box", reference="PPG-1029")
    let_time_pass(10)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert confirm("PPG-1029").outcome is Outcome.ALREADY_DELIVERED
    assert Good.objects.count() == 1


def test_c28a_unknown_is_not_asked_about_again_at_once(sandbox: Sandbox) -> None:
    for _visit in range(5):
        assert confirm("PPG-1029").outcome is Outcome.UNKNOWN
    assert sandbox.verify_calls("PPG-1029") == 1


DELIVERS = [10000, "10000", 10000.0, 1e4]
HOLDS = [
    "10000.00", 10000.4, "10,000", -10000, True, None, "", float("nan"), float("inf"),
    10000000000000000000001, [10000], {"amount": 10000}, "١٠٠٠٠", " 10000", "1e4", "0x2710",
    False, "-10000", "+10000", "NaN",
]  # fmt: skip


@pytest.mark.parametrize("amount", DELIVERS)
def test_c41_a_whole_amount_of_any_spelling_delivers(
    tea_box: PaymentPage, sandbox: Sandbox, amount: object
) -> None:
    sandbox.pay("tea-box", reference="PPG-1041")
    sandbox.set_transaction("PPG-1041", amount=amount)
    assert confirm("PPG-1041", tea_box).outcome is Outcome.DELIVERED
    assert Transaction.objects.get().amount == 10000


@pytest.mark.parametrize("amount", HOLDS)
def test_c41_an_amount_that_is_no_whole_number_is_held(
    tea_box: PaymentPage, sandbox: Sandbox, amount: object
) -> None:
    sandbox.pay("tea-box", reference="PPG-1041")
    sandbox.set_transaction("PPG-1041", amount=amount)
    assert confirm("PPG-1041", tea_box).outcome is Outcome.HELD
    assert held(Reason.AMOUNT_INVALID)


@pytest.mark.parametrize("amount", ["1.0e+4", "1E4", "100e2"])
def test_c41_a_bare_exponent_is_the_number_it_is(
    tea_box: PaymentPage, sandbox: Sandbox, amount: str
) -> None:
    sandbox.faults.add(
        operation="verify",
        kind="raw",
        body='{"status":true,"message":"","data":{"reference":"PPG-1041","status":"success",'
        f'"domain":"test","currency":"ILS","amount":{amount}}}}}',
    )
    assert confirm("PPG-1041", tea_box).outcome is Outcome.DELIVERED


def test_c41_true_is_not_one(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    PaymentPage.objects.update(amount=1)
    sandbox.pay("tea-box", reference="PPG-1041")
    sandbox.set_transaction("PPG-1041", amount=True)
    assert confirm("PPG-1041", tea_box).outcome is Outcome.HELD


def test_c52_references_that_differ_by_case_are_two_payments(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """So are references that a collation takes for equal in other ways."""
    references = ["ppg-AbC", "ppg-aBc", "ppg-abc", "PPG.abc"]
    for reference in references:
        sandbox.pay("tea-box", reference=reference)
        assert confirm(reference, tea_box).outcome is Outcome.DELIVERED
    assert confirm("PPG-ABC", tea_box).outcome is Outcome.UNKNOWN
    assert confirm("PPG-ABC", tea_box).transaction is None
    assert sorted(Good.objects.values_list("reference", flat=True)) == sorted(references)
    bound = Fulfilment.objects.values_list("transaction__reference", flat=True)
    assert sorted(bound) == sorted(references)


def test_a_reference_of_another_mode_is_another_payment(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    assert confirm("PPG-1", tea_box).outcome is Outcome.DELIVERED
    configure(MODE="live")
    PaymentPage.objects.update(domain="live")
    sandbox.set_transaction("PPG-1", domain="live")
    assert confirm("PPG-1", tea_box).outcome is Outcome.DELIVERED
    assert Good.objects.count() == 2


def test_an_answer_about_another_reference_is_no_answer(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    for other in ("OTHER-1", "ppg-1", "PPG-1 "):
        sandbox.faults.clear()
        sandbox.faults.add(operation="verify", kind="wrong_reference", other=other)
        let_time_pass(10)
        assert confirm("PPG-1", tea_box).outcome is Outcome.UNAVAILABLE
    assert not Transaction.objects.exists()


@pytest.fixture
def delivered(tea_box: PaymentPage, sandbox: Sandbox) -> str:
    sandbox.pay("tea-box", reference="PPG-1014")
    assert confirm("PPG-1014", tea_box).outcome is Outcome.DELIVERED
    let_time_pass(3600)
    return "PPG-1014"


@at_once
def test_c22_no_transaction_is_open_while_the_service_is_asked(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    seen: list[bool] = []
    send = requests.adapters.HTTPAdapter.send

    def watch(self: requests.adapters.HTTPAdapter, request: Any, **options: Any) -> Any:
        seen.append(connection.in_atomic_block)
        return send(self, request, **options)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", watch)
    sandbox.pay("tea-box", reference="PPG-1022")
    confirm("PPG-1022", tea_box)
    let_time_pass(10)
    confirm("PPG-1022", refresh=True)
    assert seen == [False, False]


@at_once
def test_c22_the_client_refuses_to_be_called_inside_a_transaction(sandbox: Sandbox) -> None:
    with db_transaction.atomic(), pytest.raises(OpenTransactionError, match="verify_transaction"):
        get_client().verify_transaction("PPG-1022")
    assert sandbox.verify_calls() == 0


@at_once
def test_inside_a_transaction_confirm_names_its_other_form(sandbox: Sandbox) -> None:
    sandbox.add_transaction("PPG-1")
    with db_transaction.atomic():
        with pytest.raises(OpenTransactionError, match="confirm_payment_on_commit"):
            confirm("PPG-1")
        assert not Verification.objects.exists()
    assert sandbox.verify_calls() == 0


@at_once
def test_on_commit_the_payment_is_confirmed_after_the_commit(sandbox: Sandbox) -> None:
    sandbox.add_transaction("PPG-1")
    with db_transaction.atomic():
        expect_payment("PPG-1")
        confirm_payment_on_commit("PPG-1")
        assert sandbox.verify_calls() == 0
    assert Good.objects.count() == 1
    assert Verification.objects.get().vouched


@at_once
def test_on_rollback_nothing_is_confirmed(sandbox: Sandbox) -> None:
    sandbox.add_transaction("PPG-1")
    with db_transaction.atomic():
        confirm_payment_on_commit("PPG-1")
        db_transaction.set_rollback(True)
    assert sandbox.verify_calls() == 0


@at_once
def test_on_commit_refuses_what_is_no_reference_at_once(sandbox: Sandbox) -> None:
    with pytest.raises(InvalidReference), db_transaction.atomic():
        confirm_payment_on_commit("../page/18")


@at_once
def test_on_commit_an_error_does_not_reach_the_caller(
    sandbox: Sandbox, configure: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with db_transaction.atomic():
        confirm_payment_on_commit("PPG-1")
        configure(MODE="neither")
    assert "ConfigurationError" in caplog.text


class Statements(CaptureQueriesContext):
    """Count the statements and the commits; a write outside a transaction is a commit, too."""

    @property
    def texts(self) -> list[str]:
        return [query["sql"] for query in self.captured_queries]

    @property
    def counted(self) -> int:
        ends = ("BEGIN", "COMMIT", "ROLLBACK")
        return sum(not text.startswith(ends) for text in self.texts)

    @property
    def commits(self) -> int:
        commits, inside = 0, False
        for text in self.texts:
            if text.startswith(("BEGIN", "COMMIT", "ROLLBACK")):
                inside = text.startswith("BEGIN")
                commits += text.startswith("COMMIT")
            elif not inside and text.startswith(("INSERT", "UPDATE", "DELETE")):
                commits += 1
        return commits


@at_once
@pytest.mark.parametrize("claimed", [True, False])
def test_a_first_confirmation_costs_few_statements_and_two_commits(
    tea_box: PaymentPage, sandbox: Sandbox, claimed: bool
) -> None:
    if not claimed:
        expect_payment("PPG-1", page=tea_box)
    sandbox.pay("tea-box", reference="PPG-1")
    refuse_other_site()  # a process looks once in half a minute
    with Statements(connection) as cost:
        assert confirm("PPG-1", tea_box if claimed else None).outcome is Outcome.DELIVERED
    handler = 1  # the one row that the suite's handler writes
    own = int(foreign_keys_lock(connection.alias))  # there the record has a commit of its own
    # An expected payment is read and marked, on a server after a look whether somebody has it locked.
    # A page and that nothing is expected are told by one look-up.
    expected = 0 if claimed else 1 + (connection.vendor != "sqlite")
    assert cost.counted - handler == 7 + expected + 2 * own, cost.texts
    assert cost.commits == 2 + own, cost.texts


@at_once
def test_a_settled_confirmation_costs_two_queries_and_no_call(
    delivered: str, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    for page in (tea_box, None):
        with Statements(connection) as cost:
            assert confirm(delivered, page).outcome is Outcome.ALREADY_DELIVERED
        assert cost.counted == 2, cost.texts
        assert cost.commits == 0
    assert sandbox.verify_calls() == 1
