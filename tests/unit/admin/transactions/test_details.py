"""A payment's own page tells the whole story: why, what can be done, what happened when."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape, strip_tags

from payments_pages.choices import Door, FulfilmentState, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment, mirror_another
from tests.unit.admin.transactions.conftest import SignIn

pytestmark = pytest.mark.django_db


def page_of(client: Client, paid: Transaction | None = None) -> str:
    row = paid or Transaction.objects.get()
    response = client.get(reverse("admin:payments_pages_transaction_change", args=[row.pk]))
    assert response.status_code == 200
    shown: str = response.content.decode()
    return shown


def why_of(client: Client, paid: Transaction | None = None) -> str:
    """The box that explains, as text."""
    shown = page_of(client, paid)
    found = re.search(r'<section class="module pp-why.*?</section>', shown, re.DOTALL)
    assert found is not None
    return " ".join(re.sub(r"<[^>]+>", "", found[0]).split()).replace("\u00a0", " ")


def payer_of(shown: str) -> str:
    """The rows of the section Payer, as text."""
    found = re.search(r">Payer</h2>.*?</fieldset>", shown, re.DOTALL)
    assert found is not None
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).replace(" </", "</").split())


@pytest.fixture
def pay(tea_box: PaymentPage, sandbox: Sandbox) -> Any:
    def make(door: Door = Door.CALLBACK, **fields: Any) -> Transaction:
        reference = sandbox.pay("tea-box")
        sandbox.set_transaction(reference, **fields)
        token = tea_box.token if door is Door.CALLBACK else None
        confirm_payment(reference, door=door, page_token=token)
        return Transaction.objects.get(reference=reference)

    return make


def test_the_amount_the_statuses_and_test_money_come_first(staff: Client, pay: Any) -> None:
    shown = page_of(staff, pay())
    assert shown.index("Test payment") < shown.index("100.00\u00a0ILS") < shown.index("pp-why")


# Why


def test_every_reason_has_its_explanation_and_its_advice(staff: Client, held: Transaction) -> None:
    told = set()
    for reason in Reason:
        if not reason.value:
            continue
        Fulfilment.objects.update(reason=reason, last_error="it broke")
        text = why_of(staff)
        assert str(reason.label) in text
        shown = page_of(staff).partition("pp-why-heading")[2].partition("</section>")[0]
        assert len(re.findall(r"<p>.+</p>", shown)) == 1, "a fact"
        assert len(re.findall(r'<p class="pp-advice">.+</p>', shown)) >= 1, "and what to do"
        told.add(shown.partition("</h2>")[2])
    assert len(told) == len(Reason) - 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"amount": 9999}, "Paid 99.99 ILS, but the price is 100.00 ILS: 0.01 ILS less."),
        ({"currency": "JOD"}, "Paid 100.00 JOD; expected 100.00 ILS."),
        ({"domain": "live"}, "paid in live mode, and this site takes test payments only."),
        ({"amount": 0}, "cannot be used: 0.00 ILS. Expected: 100.00 ILS."),
        ({"amount": "ten"}, "cannot be used: unreadable: ten. Expected: 100.00 ILS."),
    ],
)
def test_a_hold_says_what_was_expected_and_what_came(
    staff: Client, pay: Any, fields: dict[str, Any], sentence: str
) -> None:
    assert sentence in why_of(staff, pay(**fields))


def test_a_payment_for_nothing_known_says_so(staff: Client, pageless: Transaction) -> None:
    text = why_of(staff)
    assert "100.00 ILS was paid, but nothing says what for" in text
    assert "attribute it to that page" in text
    assert "Attribute to a page…" in text


def test_a_conflict_names_both_pages(staff: Client, sandbox: Sandbox, tea_box: PaymentPage) -> None:
    mirror_another(sandbox, name="Olive oil", slug="oil", amount=5000)
    reference = sandbox.pay("tea-box", metadata={"page_slug": "oil"})
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    text = why_of(staff)
    assert "It pays for Olive oil (50.00 ILS) (named by the payment itself)" in text
    assert "the payer returned through the address of Tea box (100.00 ILS)" in text


def test_a_second_payment_names_the_first(staff: Client, sandbox: Sandbox) -> None:
    expect_payment("PPG-FIRST")
    sandbox.add_transaction("PPG-FIRST")
    confirm_payment("PPG-FIRST", door=Door.CALLBACK)
    sandbox.add_transaction("PPG-SECOND", metadata={"payments_pages_expected": "PPG-FIRST"})
    confirm_payment("PPG-SECOND", door=Door.CALLBACK)
    text = why_of(staff, Transaction.objects.get(reference="PPG-SECOND"))
    assert "has already been paid by PPG-FIRST" in text


def test_a_delivery_that_fails_shows_its_errors_and_when_it_is_tried_again(
    staff: Client, pay: Any, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always", MAX_ATTEMPTS=2)
    paid = pay()
    text = why_of(staff)
    assert "Attempt 1 of 2 failed: no luck for" in text
    assert "It is retried automatically at" in text
    confirm_payment(paid.reference, door=Door.CONFIRM)
    assert "All 2 attempts to deliver failed." in why_of(staff)
    shown = page_of(staff)
    timeline = shown.partition("pp-timeline-heading")[2].partition("</table>")[0]
    assert timeline.count("RuntimeError: no luck") == 2
    assert shown.count("RuntimeError") == 2, "the class of an error is for the timeline alone"
    assert "payer@example" not in timeline, "the payer's address is taken out"


def test_a_permanent_error_says_that_the_code_cannot_deliver(
    staff: Client, pay: Any, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.refuse")
    pay()
    assert "cannot deliver this: sold out" in why_of(staff)


@pytest.mark.parametrize(
    ("status", "heading"),
    [("pending", "Not paid yet"), ("failed", "Not paid"), ("reversed", "The money went back")],
)
def test_what_is_not_paid_says_what_the_service_said(
    staff: Client, pay: Any, status: str, heading: str
) -> None:
    text = why_of(staff, pay(status=status))
    assert text.startswith(heading)
    assert f"“{status}”" in text


def test_what_is_not_paid_says_when_it_is_asked_about_again(staff: Client, pay: Any) -> None:
    pay(status="pending")
    assert "We ask again automatically, next at" in why_of(staff)
    Verification.objects.update(state="lapsed", next_at=None)
    assert "After three days we no longer ask" in why_of(staff)
    Verification.objects.update(state="settled")
    assert "ask again automatically" not in why_of(staff)
    Verification.objects.all().delete()
    assert why_of(staff).startswith("Not paid yet")


def test_a_delivered_payment_that_is_reversed_is_shown_to_staff(
    staff: Client, pay: Any, sandbox: Sandbox
) -> None:
    paid = pay()
    assert why_of(staff).startswith("Delivered")
    sandbox.set_transaction(paid.reference, status="reversed")
    let_time_pass(10)
    confirm_payment(paid.reference, door=Door.ADMIN, refresh=True)
    text = why_of(staff)
    assert text.startswith("Delivered, but no longer paid")
    assert "success → reversed" in page_of(staff)


def test_more_than_the_price_is_said_with_the_difference(staff: Client, pay: Any) -> None:
    assert "Paid 102.50 ILS, which is 2.50 ILS more than the price" in why_of(
        staff, pay(amount=10250)
    )


@pytest.mark.parametrize("state", [*FulfilmentState, "of-a-later-one"])
def test_no_state_is_without_words(staff: Client, held: Transaction, state: str) -> None:
    Fulfilment.objects.update(state=state)
    assert why_of(staff)


def test_who_decided_and_why_stays_on_the_page(staff: Client, held: Transaction) -> None:
    Fulfilment.objects.update(
        state=FulfilmentState.REJECTED, decided_by="Rana <i>", note="paid & too little"
    )
    text = why_of(staff)
    assert "Rana &lt;i&gt; rejected it: paid &amp; too little" in text
    assert "refund the payment at the service" in text


# What is shown to whom


def test_customers_details_are_for_who_may_see_them(
    viewer: Client, sign_in: SignIn, pay: Any
) -> None:
    paid = pay(
        customer={
            "email": "nur@example.test",
            "first_name": "Nurhayat",
            "phone": "+970591234567",
        },
        ip_address="203.0.113.77",
        metadata={"custom_fields": [{"display_name": "Street", "value": "Rose Lane 7"}]},
        log={"start_time": 1, "history": [{"type": "input", "message": "typed 4081", "time": 1}]},
    )
    personal = (
        "nur@example.test", "Nurhayat", "+970591234567", "203.0.113.77", "Rose Lane 7", "typed 4081",
    )  # fmt: skip
    masked = page_of(viewer, paid)
    for word in personal:
        assert word not in masked
    assert "n•••@example.test" in masked
    shown = page_of(sign_in("view_transaction", "view_customer_details"), paid)
    for word in personal:
        assert word in shown


def test_the_payers_name_phone_card_and_answers_are_rows(
    viewer: Client, sign_in: SignIn, pay: Any, tea_box: PaymentPage
) -> None:
    PaymentPage.objects.update(
        custom_fields=[{"display_name": "Which size?", "variable_name": "size"}]
    )
    paid = pay(
        customer={"first_name": "Nurhayat", "last_name": "Aydin", "phone": "+970591234567"},
        authorization={"brand": "visa", "last4": "7731"},
        metadata={"custom_fields": [{"variable_name": "size", "value": "extra large"}]},
    )
    assert paid.answers == {"Which size?": "extra large"}
    shown = payer_of(page_of(sign_in("view_transaction", "view_customer_details"), paid))
    for part in ("Name: Nurhayat Aydin", "Phone: +970591234567", "Card: visa •••• 7731",
                 "Answers: Question Answer Which size? extra large"):  # fmt: skip
        assert part in shown
    masked = payer_of(page_of(viewer, paid))
    for part in ("Name: N. A.", "Phone: •••67", "Card: •••", "Answers: •••"):
        assert part in masked
    for hidden in ("visa", "7731", "Which size?", "extra large"):
        assert hidden not in masked


def test_the_payers_address_opens_a_message_with_the_reference(
    staff: Client, viewer: Client, pay: Any
) -> None:
    paid = pay(customer={"email": "nur+tea@example.test"})
    link = f'href="mailto:nur%2Btea@example.test?subject={paid.reference}"'
    assert link in page_of(staff, paid)
    assert "mailto:" not in page_of(viewer, paid)
    Transaction.objects.update(customer_email="no address?bcc=x@example.test")
    assert "mailto:" not in page_of(staff, paid)


def test_what_the_payer_sees_is_opened_and_copied(
    staff: Client, pay: Any, settings: Any, configure: Any
) -> None:
    paid = pay()
    configure(SITE_URL="https://shop.example.com")
    url = f"https://shop.example.com{reverse('payments_pages:result', args=[paid.token])}"
    shown = page_of(staff, paid)
    assert f'data-copy="{url}"' in shown
    assert f'<a href="{url}"' in shown
    configure(RESULT_VIEW="no-such-view")
    assert "What the payer sees" not in page_of(staff, paid)


def test_the_story_stands_before_what_the_service_said_and_nothing_stands_twice(
    staff: Client, held: Transaction
) -> None:
    Event.objects.create(
        reference_key=held.reference_key, kind="noted", door="admin", detail="called", actor="Rana"
    )
    shown = page_of(staff)
    order = [
        'class="pp-headline"', 'id="pp-why-heading"', 'id="pp-notes-heading"',
        'id="pp-timeline-heading"', ">Payer</h2>", ">What it pays for</h2>", ">Delivery</h2>",
        ">What the service said</h2>", ">As the service sent it</h2>",
    ]  # fmt: skip
    plain = re.sub(r"\s*</?(summary|details)[^>]*>", "", shown)
    places = [re.search(re.escape(part).replace(">", ">\\s*", 1), plain) for part in order]
    assert all(places), order
    starts = [place.start() for place in places if place]
    assert starts == sorted(starts)
    for label in ("Payment status:", "Paid at:", "Delivery:", "Reason:"):
        assert f"<label>{label}</label>" not in shown


def test_the_timeline_speaks_the_readers_language(
    staff: Client, pay: Any, sandbox: Sandbox
) -> None:
    paid = pay()
    sandbox.set_transaction(paid.reference, status="reversed")
    let_time_pass(10)
    confirm_payment(paid.reference, door=Door.ADMIN, refresh=True, actor="Rana")
    staff.cookies["django_language"] = "he"
    table = page_of(staff, paid).partition("pp-timeline-heading")[2].partition("</table>")[0]
    words = re.sub(r"<[^>]+>|Rana|EET|EEST", " ", table)
    assert re.findall(r"[A-Za-z]{2,}", words) == []


def test_without_a_name_a_phone_a_card_and_answers_the_rows_are_dashes(
    viewer: Client, sign_in: SignIn, pay: Any
) -> None:
    paid = pay(customer={}, authorization={}, metadata="")
    for reader in (viewer, sign_in("view_transaction", "view_customer_details")):
        shown = payer_of(page_of(reader, paid))
        assert shown.startswith(">Payer Name: – ")
        assert "Phone: – Card: –" in shown


def test_a_page_costs_few_queries_however_long_the_story(
    staff: Client, held: Transaction, django_assert_max_num_queries: Any
) -> None:
    page_of(staff, held)
    with django_assert_max_num_queries(10) as short:
        page_of(staff, held)
    Event.objects.bulk_create(
        Event(reference_key=held.reference_key, kind="noted", door="admin", detail=f"line {n}")
        for n in range(300)
    )
    with django_assert_max_num_queries(10) as long:
        shown = page_of(staff, held)
    assert len(long) == len(short)
    assert "Older lines are left out." in shown
    assert "line 299" in shown
    assert "line 50<" not in shown


def test_another_reference_is_named_by_its_number_alone(staff: Client, held: Transaction) -> None:
    for pk in ("0", "99999", "9" * 40, "x", "1%20OR%201"):
        url = f"/admin/payments_pages/transaction/{pk}/change/"
        assert staff.get(url).status_code == 302


# The timeline


def test_our_events_and_the_services_log_are_one_table_in_order(staff: Client, pay: Any) -> None:
    shown = page_of(staff, pay(amount=9999)).partition('id="pp-timeline-heading"')[2]
    order = [
        "Card details sent", "Card accepted", "reference received", "success (attempt 1)",
        "paid less than the price",
    ]  # fmt: skip
    assert sorted(order, key=shown.index) == order
    assert all(text in shown for text in order)


LOGS: list[Any] = [
    None, {}, [], "text", 7, True, {"history": None}, {"history": "x"}, {"history": {"a": 1}},
    {"start_time": "soon", "history": [None, 7, "text", [], {}, {"time": None}]},
    {"start_time": 10**30, "history": [{"time": 10**30, "message": {"a": [1]}, "type": 7}]},
    {"start_time": -5, "history": [{"time": -(10**9), "message": "x", "type": None}]},
    {"start_time": 1e308, "history": [{"time": 1e308}]},
    {"start_time": True, "history": [{"time": True, "type": True, "message": True}]},
    {"start_time": "1700000000", "history": [{"time": "4.5", "message": "x" * 5000}]},
    {"start_time": 1700000000000, "history": [{"time": "NaN"}, {"time": "Infinity"}]},
    {"history": [{"time": n, "message": f"m{n}"} for n in range(3000)]},
]  # fmt: skip


@pytest.mark.parametrize("log", LOGS)
def test_any_log_whatever_is_shown(staff: Client, held: Transaction, log: Any) -> None:
    Transaction.objects.update(log=log if log is not None else {})
    assert "Timeline" in page_of(staff)


@pytest.mark.parametrize(
    "moment", ["9999-12-31T23:59:59Z", "1000-01-01T00:00:00Z", "0999-12-31", "2026-02-30"]
)
def test_a_time_at_the_end_of_the_calendar_is_shown(staff: Client, pay: Any, moment: str) -> None:
    paid = pay(paid_at=moment, created_at=moment)
    assert page_of(staff, paid)
    assert staff.get("/admin/payments_pages/transaction/").status_code == 200


def test_times_of_the_services_log_are_counted_from_its_start(
    staff: Client, held: Transaction
) -> None:
    entry = {"type": "action", "message": "Attempted to pay", "time": 65}
    Transaction.objects.update(log={"start_time": 1795608000, "history": [entry]})
    shown = page_of(staff).partition('id="pp-timeline-heading"')[2]
    line = next(part for part in shown.split("<tr>") if "Attempted to pay" in part)
    assert "2026-11-25 14:01" in strip_tags(line)
    Transaction.objects.update(log={"history": [entry]}, created_at=None)
    shown = page_of(staff).partition('id="pp-timeline-heading"')[2]
    line = next(part for part in shown.split("<tr>") if "Attempted to pay" in part)
    assert "+65 s" in line


# Texts of others (C51)

EVIL = '<img src=x onerror="alert(1)">{{ x }}\u202e</textarea><script>alert(2)</script>javascript:'


def test_c51_what_payers_services_and_staff_write_runs_nothing(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    PaymentPage.objects.update(name=EVIL)
    reference = sandbox.pay(
        "tea-box",
        amount=9999,
        first_name=EVIL,
        email=EVIL,
        channel=EVIL[:60],
        message=EVIL,
        gateway_response=EVIL,
        metadata={"custom_fields": [{"display_name": EVIL, "value": EVIL}]},
        log={"start_time": 1, "history": [{"type": EVIL, "message": EVIL, "time": 1}]},
    )
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    paid = Transaction.objects.get()
    authorization = {**paid.authorization, "bank": "javascript:alert(1)"}
    Transaction.objects.update(authorization=authorization)
    Fulfilment.objects.update(note=EVIL, last_error=EVIL, decided_by=EVIL[:150])
    Verification.objects.update(last_error=EVIL)
    Event.objects.create(
        reference_key=paid.reference_key, kind="noted", door="admin", detail=EVIL, actor=EVIL[:150]
    )
    names = ("change", "approve", "reject", "attribute", "verify", "note", "history")
    addresses = [
        "/admin/payments_pages/",
        "/admin/payments_pages/transaction/",
        "/admin/payments_pages/verification/",
        reverse("admin:payments_pages_verification_change", args=[Verification.objects.get().pk]),
        *(reverse(f"admin:payments_pages_transaction_{name}", args=[paid.pk]) for name in names),
    ]
    pages = [staff.get(address).content.decode() for address in addresses]
    for reason in Reason:
        Fulfilment.objects.update(reason=reason)
        pages.append(page_of(staff))
    for state in FulfilmentState:
        Fulfilment.objects.update(state=state)
        pages.append(page_of(staff))
    assert any(escape(EVIL) in page for page in pages)
    for page in pages:
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert not re.search(r'href\s*=\s*["\']?\s*javascript:', page, re.IGNORECASE)
