"""What no pattern lets in: too long, not storable, not sendable. Every door refuses it."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment, confirm_payment_on_commit, sweep_due
from payments_pages.exceptions import InvalidReference
from payments_pages.models import ExpectedPayment, PaymentPage, Transaction, Verification
from payments_pages.references import LONGEST, check_reference
from payments_pages.sandbox import Sandbox
from tests.support.webhook_signing import HEADER, SECRET, event, post, said

ANYTHING = r"(?s).*"
UNUSABLE = {
    "nothing": "",
    "longer than the column": "A" * (LONGEST + 1),
    "longer than the column, in Arabic": "ش" * (LONGEST + 1),
    "half a pair": "\ud800x",
    "the other half": "PPG-\udfff",
    "halves in the wrong order": "\udc00\ud800",
    "NUL": "a\x00b",
    "a line break": "PPG-1\nPPG-2",
    "at the end": "PPG-1\n",
    "a bell": "\x07",
    "escape": "\x1b[2J",
    "the last of the first row": "a\x1fb",
    "delete": "a\x7fb",
    "next line": "a\x85b",
    "the last of the second row": "a\x9fb",
}
USABLE = {
    "as long as the column": "A" * LONGEST,
    "as long as the column, beyond 16 bits": "🍵" * LONGEST,
    "Arabic": "شاي-١",
    "marks": "\u200fPPG\u00a01\u2028",
    "signs": "../a?b#c%2F'\"<>",
}
SENDABLE = {
    name: text
    for name, text in UNUSABLE.items()
    # No address and no form can hold half a pair; blanks at the ends are not taken for part of it.
    if text == text.strip() and not any("\ud800" <= sign <= "\udfff" for sign in text)
}
unusable = pytest.mark.parametrize("reference", UNUSABLE.values(), ids=list(UNUSABLE))
sendable = pytest.mark.parametrize("reference", SENDABLE.values(), ids=list(SENDABLE))


@pytest.fixture(autouse=True)
def wide(sandbox: Sandbox, configure: Any) -> None:
    configure(
        REFERENCE_PATTERN=ANYTHING,
        WEBHOOK_HEADER=HEADER,
        WEBHOOK_ALGORITHM="sha256",
        WEBHOOK_SECRETS=(SECRET,),
    )


@pytest.fixture
def nothing_came_of_it(transactional_db: None, sandbox: Sandbox) -> Iterator[None]:
    yield
    assert sandbox.requests == []
    assert not Verification.objects.exists()


@unusable
def test_it_is_refused_whatever_the_pattern_says(reference: str) -> None:
    with pytest.raises(InvalidReference):
        check_reference(reference)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("reference", USABLE.values(), ids=list(USABLE))
def test_what_is_taken_is_stored_asked_about_and_given_back_as_it_came(
    sandbox: Sandbox, tea_box: PaymentPage, reference: str
) -> None:
    sandbox.pay("tea-box", reference=reference)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert Verification.objects.get().reference == reference
    assert Transaction.objects.get().reference == reference
    assert [request.key for request in sandbox.requests] == [reference]


@unusable
@pytest.mark.usefixtures("nothing_came_of_it")
def test_code_that_confirms_is_told(reference: str) -> None:
    with pytest.raises(InvalidReference):
        confirm_payment(reference, door=Door.CONFIRM)
    with transaction.atomic(), pytest.raises(InvalidReference):
        confirm_payment_on_commit(reference)


@unusable
@pytest.mark.usefixtures("nothing_came_of_it")
def test_confirm_answers_400(client: Client, reference: str) -> None:
    body = json.dumps({"reference": reference})
    answer = client.post(reverse("payments_pages:confirm"), body, content_type="application/json")
    assert (answer.status_code, said(answer)["outcome"]) == (400, "invalid")


@unusable
@pytest.mark.usefixtures("nothing_came_of_it")
@pytest.mark.parametrize("kind", ["charge.success", "refund.processed"])
def test_the_webhook_answers_400(reference: str, kind: str) -> None:
    assert post(event(reference, kind)).status_code == 400


@sendable
@pytest.mark.usefixtures("nothing_came_of_it")
def test_the_callback_answers_400(come_back: Any, reference: str) -> None:
    assert come_back(reference).status_code == 400


@pytest.mark.parametrize("reference", [text for text in UNUSABLE.values() if text == text.strip()])
@pytest.mark.usefixtures("nothing_came_of_it")
def test_the_command_calls_it_invalid(reference: str) -> None:
    out = io.StringIO()
    with pytest.raises(CommandError, match="0 of 1 delivered"):
        call_command("payments_pages_confirm", reference, stdout=out)
    assert ": no valid reference\n" in out.getvalue()


@pytest.mark.usefixtures("nothing_came_of_it")
def test_a_file_of_them_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "references"
    file.write_text("a\x00b\na\x7fb\n" + "A" * (LONGEST + 1), encoding="utf-8")
    with pytest.raises(CommandError, match="3 no valid reference"):
        call_command("payments_pages_confirm", file=str(file), stdout=io.StringIO())


@sendable
@pytest.mark.usefixtures("nothing_came_of_it")
def test_the_admin_finds_nothing_and_asks_nothing(client: Client, reference: str) -> None:
    client.force_login(User.objects.create_superuser("staff"))
    found = client.get("/admin/payments_pages/transaction/", {"q": reference})
    assert found.status_code == 200
    form = reverse("admin:payments_pages_transaction_verify_reference")
    answer = client.post(form, {"reference": reference})
    assert answer.status_code == 200
    assert answer.context["form"].errors


@unusable
@pytest.mark.django_db(transaction=True)
def test_what_a_payer_writes_into_metadata_names_no_expected_payment_and_loses_nothing(
    sandbox: Sandbox, tea_box: PaymentPage, reference: str
) -> None:
    paid = sandbox.pay("tea-box", metadata={"payments_pages_expected": reference})
    found = confirm_payment(paid, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome == "delivered"
    assert not ExpectedPayment.objects.exists()
    assert sweep_due().errors == 0
