"""Without the permission, nothing of a payer is shown, found, filtered, ordered, logged or taken."""

import itertools
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from payments_pages.admin.transactions.actions import ACTIONS, fingerprint
from payments_pages.admin.transactions.search import CUSTOMER_FIELDS
from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.staff import mask_email
from payments_pages.staff.masking import mask_name, mask_phone, mask_whole

pytestmark = pytest.mark.django_db

ADMIN = "/admin/payments_pages/"
TRANSACTIONS = ADMIN + "transaction/"

PERSONAL = {
    "local part": "layla.nasser",
    "first name": "Layla",
    "last name": "Nasser",
    "phone": "599876543",
    "address": "198.51.100.23",
    "last four": "7731",
    "bank": "Bank of Ramallah",
    "bin": "506101",
    "answer": "12 Olive Street",
    "typed": "typed by the payer",
    "customer code": "CUS_layla",
}
"""What must not be seen; each is somewhere in what the service said."""


@pytest.fixture
def payment(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A payment whose payer the service knows well; it is held, so that much is said about it."""
    reference = sandbox.pay(
        "tea-box",
        reference="PPG-0042",  # begins with none of the texts that are searched for
        amount=9999,
        ip_address=PERSONAL["address"],
        customer={
            "id": 5,
            "first_name": PERSONAL["first name"],
            "last_name": PERSONAL["last name"],
            "email": f"{PERSONAL['local part']}@example.com",
            "customer_code": PERSONAL["customer code"],
            "phone": f"+970{PERSONAL['phone']}",
            "metadata": {"street": PERSONAL["answer"]},
        },
        authorization={
            "last4": PERSONAL["last four"],
            "bank": PERSONAL["bank"],
            "bin": PERSONAL["bin"],
        },
        metadata={
            "custom_fields": [{"display_name": "Street", "value": PERSONAL["answer"]}],
            "page": "tea-box",
        },
        log={
            "start_time": 1795800000,
            "input": [{"name": PERSONAL["typed"]}],
            "history": [
                {"type": "input", "message": PERSONAL["typed"], "time": 1},
                {"type": "action", "message": f"Sent a code to {PERSONAL['phone']}", "time": 2},
                {"type": PERSONAL["typed"], "message": "", "time": 3},
                f"Paid by {PERSONAL['typed']}",
                {"type": "action", "message": "Card accepted", "time": 4},
            ],
        },
    )
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    return Transaction.objects.get()


def person(*, sees_customers: bool) -> Client:
    """Somebody with every other permission of this app."""
    user = User.objects.create_user("clerk", is_staff=True)
    permissions = Permission.objects.filter(content_type__app_label="payments_pages")
    if not sees_customers:
        permissions = permissions.exclude(codename="view_customer_details")
    user.user_permissions.set(permissions)
    client = Client()
    client.force_login(user)
    return client


def body(response: Any) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return str(content.decode())


def all_that_can_be_seen(client: Client, payment: Transaction) -> dict[str, str]:
    """Every page on which a payment has a part, and what staff's actions say, by address."""
    asked = Verification.objects.get()
    addresses = [
        "/admin/",
        ADMIN,
        TRANSACTIONS,
        f"{TRANSACTIONS}?o=-5",
        f"{TRANSACTIONS}{payment.pk}/change/",
        f"{TRANSACTIONS}{payment.pk}/history/",
        f"{TRANSACTIONS}verify/",
        f"{ADMIN}verification/",
        f"{ADMIN}verification/{asked.pk}/change/",
        f"{ADMIN}verification/{asked.pk}/history/",
        f"{ADMIN}paymentpage/",
        f"{ADMIN}paymentpage/{payment.page_id}/change/",
        *(f"{TRANSACTIONS}{payment.pk}/{action.name}/" for action in ACTIONS),
    ]
    seen = {url: body(client.get(url, follow=True)) for url in addresses}
    Verification.objects.update(asked_at=None)
    posts: list[tuple[str, dict[str, Any]]] = [
        (f"{TRANSACTIONS}export/", {}),
        (f"{TRANSACTIONS}verify/", {"reference": payment.reference}),
        (TRANSACTIONS, {"action": "verify_again", "_selected_action": payment.pk}),
        (TRANSACTIONS, {"action": "approve_held", "_selected_action": payment.pk}),
        (TRANSACTIONS, {"action": "export_selected", "_selected_action": payment.pk}),
        (
            f"{TRANSACTIONS}{payment.pk}/note/",
            {"note": "called back", "seen": fingerprint(payment)},
        ),
        (f"{TRANSACTIONS}{payment.pk}/approve/", {"note": "agreed", "seen": fingerprint(payment)}),
    ]
    for number, (url, data) in enumerate(posts):
        seen[f"POST {number} {url}"] = body(client.post(url, data, follow=True))
    seen["after"] = body(client.get(f"{TRANSACTIONS}{payment.pk}/change/"))
    return seen


def leaks(seen: dict[str, str]) -> set[tuple[str, str]]:
    return {
        (where, what)
        for where, what in itertools.product(seen, PERSONAL)
        if PERSONAL[what].lower() in seen[where].lower()
    }


def test_nothing_of_the_payer_is_on_any_page_for_who_may_not_see_customers(
    payment: Transaction,
) -> None:
    seen = all_that_can_be_seen(person(sees_customers=False), payment)
    assert leaks(seen) == set()
    assert "l•••@example.com" in seen[TRANSACTIONS]
    assert payment.reference in seen["after"]
    assert "Card accepted" in seen["after"]


def test_who_may_see_customers_sees_all_of_that(payment: Transaction) -> None:
    seen = all_that_can_be_seen(person(sees_customers=True), payment)
    assert {what for _where, what in leaks(seen)} == set(PERSONAL)
    assert "•••" not in seen[TRANSACTIONS]


def test_neither_the_timeline_nor_the_audit_trail_holds_anything_of_the_payer(
    payment: Transaction,
) -> None:
    all_that_can_be_seen(person(sees_customers=True), payment)
    written = {
        f"event {event.pk}": f"{event.detail} {event.actor}" for event in Event.objects.all()
    }
    written |= {
        f"entry {entry.pk}": f"{entry.change_message} {entry.object_repr}"
        for entry in LogEntry.objects.all()
    }
    assert len(written) > 5
    assert leaks(written) == set()


# Asking round the corner


def person_is_told(answer: Any) -> bool:
    """Tell whether the answer says more than that nothing was found, such as a sum."""
    return "pp-sum" in body(answer)


def test_a_search_by_mail_finds_nothing_for_who_may_not_see_it(payment: Transaction) -> None:
    clerk = person(sees_customers=False)
    typed = (
        "layla", payment.customer_email, "l", "%", "Nasser", "Layla Nasser", PERSONAL["address"],
        PERSONAL["last four"], f"0{PERSONAL['phone']}", PERSONAL["phone"],
    )  # fmt: skip
    for text in typed:
        found = clerk.get(TRANSACTIONS, {"q": text})
        assert found.status_code == 200
        assert found.context["cl"].result_count == 0
        assert not person_is_told(found)
    assert clerk.get(TRANSACTIONS, {"q": payment.reference}).status_code == 302
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    assert [boss.get(TRANSACTIONS, {"q": text}).context["cl"].result_count for text in typed] == [
        1, 1, 1, 0, 1, 1, 0, 1, 1, 1,
    ]  # fmt: skip


@pytest.mark.parametrize("field", sorted(CUSTOMER_FIELDS))
def test_no_filter_in_the_address_asks_about_a_hidden_field(
    payment: Transaction, field: str
) -> None:
    clerk = person(sees_customers=False)
    for lookup in ("", "__icontains", "__startswith", "__isnull", "__regex", "__first_name"):
        answer = clerk.get(TRANSACTIONS, {f"{field}{lookup}": "l"})
        assert answer.status_code == 400, lookup


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        ("fulfilment", "transaction__customer_email__startswith"),
        ("paymentpage", "transactions__customer_email__startswith"),
        ("paymentpage", "transactions__ip_address"),
        ("transaction", "page__transactions__customer_email__startswith"),
        ("transaction", "fulfilment__transaction__customer_email__startswith"),
        ("transaction", "expected_payment__transactions__customer_email__startswith"),
    ],
)
def test_no_filter_reaches_a_hidden_field_through_another_table(
    payment: Transaction, model: str, lookup: str
) -> None:
    clerk = person(sees_customers=False)
    counts = set()
    for start in ("l", "x"):
        answer = clerk.get(f"{ADMIN}{model}/", {lookup: start}, follow=True)
        found = answer.context.get("cl") if answer.context else None
        counts.add((answer.status_code, found.result_count if found else None))
    assert len(counts) == 1, "the answer depends on the hidden value"


def test_the_masked_column_cannot_be_ordered_by(payment: Transaction) -> None:
    page = body(person(sees_customers=False).get(TRANSACTIONS))
    header = re.findall(r'<th[^>]*class="[^"]*column-masked_payer[^"]*"', page)
    assert len(header) == 1
    assert "sortable" not in header[0]


def test_a_filter_by_a_hidden_field_works_for_who_may_see_it(payment: Transaction) -> None:
    found = person(sees_customers=True).get(TRANSACTIONS, {"customer_email__startswith": "layla"})
    assert found.context["cl"].result_count == 1


def test_every_column_of_a_transaction_was_thought_about() -> None:
    """A new column is either a customer's, or named here as one that every viewer may see."""
    for_every_viewer = {
        "id", "reference", "reference_key", "token", "remote_id", "domain", "status", "amount",
        "currency", "fees", "message", "gateway_response", "channel", "paid_at", "created_at",
        "page", "expected_payment", "attributed_by", "verified_at",
    }  # fmt: skip
    columns = {field.name for field in Transaction._meta.local_fields}
    assert columns == for_every_viewer | CUSTOMER_FIELDS


# The masks


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("noor@example.com", "n•••@example.com"),
        ("n@example.com", "n•••@example.com"),
        ("نور@example.com", "ن•••@example.com"),
        ('"a@b"@example.com', '"•••@example.com'),
        ("@example.com", "•••"),
        ("noor@", "•••"),
        ("noor", "•••"),
        (" ", ""),
        ("", ""),
    ],
)
def test_an_address_keeps_its_first_letter_and_its_domain(text: str, masked: str) -> None:
    assert mask_email(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Noor Haddad", "N. H."),
        ("نور حداد", "ن. ح."),
        ("Noor", "N."),
        ("  ", ""),
        ("", ""),
    ],
)
def test_a_name_keeps_its_initials(text: str, masked: str) -> None:
    assert mask_name(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("+970 59 123 4567", "•••67"),
        ("٠٥٩١٢٣٤٥٦٧", "•••٦٧"),
        ("1234", "•••"),
        ("call me", "•••"),
        ("", ""),
    ],
)
def test_a_phone_keeps_its_last_two_digits(text: str, masked: str) -> None:
    assert mask_phone(text) == masked


def test_a_whole_mask_tells_only_that_there_is_something() -> None:
    assert (mask_whole("203.0.113.7"), mask_whole(" "), mask_whole("")) == ("•••", "", "")
