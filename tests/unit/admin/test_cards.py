"""Saved cards in the admin: what staff see, what they cannot, and how they forget one."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from payments_pages.models import PaymentPage, SavedCard, Transaction
from payments_pages.references import reference_key

pytestmark = pytest.mark.django_db

LIST = "/admin/payments_pages/savedcard/"
EVERYTHING = ("view_savedcard", "forget_savedcard", "view_customer_details", "view_transaction")


@pytest.fixture(autouse=True)
def keys(configure: Any) -> None:
    configure(CARD_KEYS=[Fernet.generate_key().decode()])


def sign_in(*permissions: str) -> Client:
    person = User.objects.create_user(f"staff of {len(permissions)}", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(person)
    return client


def make_card(owner: User, number: int = 1, **fields: Any) -> SavedCard:
    reference = f"PPG-{owner.pk}-{number}"
    payment = Transaction.objects.create(
        reference=reference,
        reference_key=reference_key(reference),
        status="success",
        verified_at=timezone.now(),
    )
    return SavedCard.objects.create(
        owner_key=str(owner.pk),
        first_payment=payment,
        **{
            "card_key": f"{number:064}",
            "domain": "test",
            "encrypted_code": "gAAAA-not-to-be-seen",
            "brand": "visa",
            "last4": f"{number:04}",
            "exp_month": "12",
            "exp_year": "2030",
            "saved_at": timezone.now(),
            **fields,
        },
    )


@pytest.fixture
def noor(db: None) -> User:
    return User.objects.create_user("noor@example.test")


def text(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_a_card_is_shown_with_its_owner_and_first_payment(noor: User) -> None:
    card = make_card(noor, 4081)
    client = sign_in(*EVERYTHING)
    for page in (text(client.get(LIST)), text(client.get(f"{LIST}{card.pk}/change/"))):
        for told in (
            "visa •••• 4081",
            "12/2030",
            "noor@example.test",
            card.first_payment.reference,
        ):
            assert told in page, told
        assert (
            reverse("admin:payments_pages_transaction_change", args=[card.first_payment_id]) in page
        )
        assert reverse("admin:auth_user_change", args=[noor.pk]) in page
        assert "not-to-be-seen" not in page
        assert card.card_key not in page


def test_a_card_of_whom_little_is_known_is_shown(noor: User) -> None:
    card = make_card(noor, brand="", last4="", exp_month="", exp_year="")
    User.objects.filter(pk=noor.pk)._raw_delete(connection.alias)
    client = sign_in(*EVERYTHING)
    assert "••••" in text(client.get(LIST))
    assert str(noor.pk) in text(client.get(f"{LIST}{card.pk}/change/"))


def test_a_search_for_a_name_finds_nothing_where_user_names_are_numbers(
    noor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_card(noor, 4081)
    client = sign_in(*EVERYTHING)
    monkeypatch.setattr(User, "USERNAME_FIELD", "id")
    for typed in ("noor", "1.5", "9" * 30):
        assert "4081" not in text(client.get(LIST, {"q": typed})), typed
    assert "4081" in text(client.get(LIST, {"q": str(noor.pk)}))


def test_the_list_needs_a_fixed_number_of_queries(noor: User) -> None:
    client = sign_in(*EVERYTHING)
    counts = []
    for number in range(1, 13):
        make_card(noor, number)
        if number in {4, 12}:
            with CaptureQueriesContext(connection) as queries:
                text(client.get(LIST))
            counts.append(len(queries))
    assert counts[0] == counts[1]


def test_an_owner_is_found_by_the_whole_name(noor: User) -> None:
    make_card(noor, 1111)
    make_card(User.objects.create_user("omar@example.test"), 2222)
    client = sign_in(*EVERYTHING)
    assert "1111" in (page := text(client.get(LIST, {"q": "noor@example.test"})))
    assert "2222" not in page
    assert "1111" not in text(client.get(LIST, {"q": "noor"}))
    assert "1111" in text(client.get(LIST, {"domain__exact": "test"}))
    assert "1111" not in text(client.get(LIST, {"domain__exact": "live"}))


@pytest.mark.parametrize("lookup", ["encrypted_code__startswith", "card_key", "owner_key"])
def test_nothing_hidden_can_be_filtered_by(noor: User, lookup: str) -> None:
    make_card(noor)
    assert sign_in(*EVERYTHING).get(LIST, {lookup: "g"}).status_code in {302, 400}


@pytest.mark.parametrize("missing", ["view_savedcard", "view_customer_details"])
def test_who_may_not_see_customers_sees_no_cards(noor: User, missing: str) -> None:
    card = make_card(noor)
    client = sign_in(*(name for name in EVERYTHING if name != missing))
    assert client.get(LIST).status_code == 403
    for page in ("change", "history"):
        assert client.get(f"{LIST}{card.pk}/{page}/").status_code == 403
    forget = {"action": "forget_selected", "_selected_action": card.pk, "confirmed": "yes"}
    assert client.post(LIST, forget).status_code == 403
    assert SavedCard.objects.exists()
    assert LIST not in text(client.get("/admin/"))


def test_nobody_adds_or_changes_or_deletes_a_card_by_a_form(noor: User) -> None:
    card = make_card(noor)
    client = Client()
    client.force_login(User.objects.create_superuser("boss"))
    assert client.get(f"{LIST}add/").status_code == 403
    assert client.post(f"{LIST}{card.pk}/change/", {"last4": "9999"}).status_code == 403
    assert client.post(f"{LIST}{card.pk}/delete/", {"post": "yes"}).status_code == 403
    assert SavedCard.objects.get().last4 == card.last4


def test_staff_forget_cards_after_a_question(noor: User) -> None:
    first, second, third = (make_card(noor, number) for number in (1, 2, 3))
    client = sign_in(*EVERYTHING)
    chosen = {"action": "forget_selected", "_selected_action": [first.pk, second.pk]}
    asked = text(client.post(LIST, chosen))
    assert "•••• 0001" in asked
    assert "•••• 0003" not in asked
    assert SavedCard.objects.count() == 3
    done = client.post(LIST, {**chosen, "confirmed": "yes"}, follow=True)
    assert "2 cards are forgotten." in text(done)
    assert list(SavedCard.objects.all()) == [third]
    lines = LogEntry.objects.order_by("pk")
    assert [(line.action_flag, line.object_id) for line in lines] == [
        (DELETION, str(second.pk)),
        (DELETION, str(first.pk)),
    ]
    assert "noor@example.test" in lines[0].get_change_message()
    assert "0001" not in lines[0].object_repr + lines[0].change_message


def test_a_card_that_is_gone_already_is_no_error(noor: User) -> None:
    card = make_card(noor)
    client = sign_in(*EVERYTHING)
    chosen = {"action": "forget_selected", "_selected_action": [card.pk], "confirmed": "yes"}
    card.delete()
    assert client.post(LIST, chosen, follow=True).status_code == 200
    assert not LogEntry.objects.exists()


def test_at_most_a_hundred_cards_are_forgotten_at_a_time(noor: User) -> None:
    cards = [make_card(noor, number) for number in range(101)]
    client = sign_in(*EVERYTHING)
    chosen = {"action": "forget_selected", "_selected_action": [card.pk for card in cards]}
    assert "at most 100 cards" in text(
        client.post(LIST, {**chosen, "select_across": "1", "confirmed": "yes"}, follow=True)
    )
    assert SavedCard.objects.count() == 101


def test_who_may_only_look_is_offered_no_forgetting(noor: User) -> None:
    card = make_card(noor)
    client = sign_in(*(name for name in EVERYTHING if name != "forget_savedcard"))
    assert "forget_selected" not in text(client.get(LIST))
    assert "Forget this card" not in text(client.get(f"{LIST}{card.pk}/change/"))
    client.post(
        LIST, {"action": "forget_selected", "_selected_action": card.pk, "confirmed": "yes"}
    )
    assert SavedCard.objects.exists()


def test_the_button_of_a_card_asks_first(noor: User) -> None:
    card = make_card(noor)
    client = sign_in(*EVERYTHING)
    assert 'value="forget_selected"' in text(client.get(f"{LIST}{card.pk}/change/"))
    assert "Forget cards" in text(
        client.post(LIST, {"action": "forget_selected", "_selected_action": card.pk})
    )


def test_a_site_that_saves_no_cards_has_no_line_for_them(
    noor: User, configure: Any, tea_box: PaymentPage
) -> None:
    client = sign_in(*EVERYTHING)
    assert LIST in text(client.get("/admin/"))
    configure(CARD_KEYS=None)
    assert LIST not in text(client.get("/admin/"))
    assert "No cards are saved." in text(client.get(LIST))
