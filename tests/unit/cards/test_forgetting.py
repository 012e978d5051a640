"""Cards are forgotten: by their owner, with their owner, and when nobody uses them."""

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.management import call_command
from django.db import connection
from django.db.models.signals import post_delete
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.models import SavedCard, Transaction
from payments_pages.staff import forget_cards
from tests.unit.cards.conftest import NOOR, Pay

pytestmark = pytest.mark.django_db(transaction=True)

OMAR = "omar@example.test"


@pytest.fixture
def cards(noor: User, pay: Pay) -> User:
    """Three cards: two of Noor's, one that is Omar's, too. Return Omar."""
    omar = User.objects.create_user(OMAR)
    pay()
    pay(signature="SIG_two")
    pay(email=OMAR)
    return omar


def owners() -> list[str]:
    return [card.owner.username for card in SavedCard.objects.order_by("pk")]


def test_forget_cards_forgets_those_of_one_user(noor: User, cards: User) -> None:
    assert forget_cards(noor) == 2
    assert owners() == [OMAR]
    assert forget_cards(noor) == 0
    assert Transaction.objects.count() == 3


def test_who_deletes_a_user_forgets_the_cards(noor: User, cards: User) -> None:
    noor.delete()
    assert owners() == [OMAR]
    User.objects.filter(username=OMAR).delete()
    assert owners() == []
    assert Transaction.objects.count() == 3


def test_deletion_in_the_admin_forgets_the_cards_whatever_staff_may_see(
    noor: User, cards: User, client: Any
) -> None:
    """Who may delete users need no permission about cards."""
    from django.contrib.auth.models import Permission

    staff = User.objects.create_user("staff", is_staff=True)
    for name in ("view_user", "delete_user"):
        staff.user_permissions.add(Permission.objects.get(codename=name))
    client.force_login(staff)
    answer = client.post(f"/admin/auth/user/{noor.pk}/delete/", {"post": "yes"})
    assert answer.status_code == 302
    assert owners() == [OMAR]


@pytest.fixture
def buyers() -> Iterator[type[User]]:
    """A project whose code knows its users by a proxy."""

    class Buyer(User):
        class Meta:
            proxy = True
            app_label = "goods"

    apps.get_app_config("payments_pages").ready()
    yield Buyer
    post_delete.disconnect(sender=Buyer, dispatch_uid="payments_pages.cards")
    del apps.all_models["goods"]["buyer"]
    apps.clear_cache()


def test_a_proxy_of_the_user_model_is_the_same_user(
    noor: User, cards: User, buyers: type[User]
) -> None:
    buyers.objects.get(pk=noor.pk).delete()
    assert owners() == [OMAR]


def test_what_is_no_user_is_deleted_as_before(cards: User) -> None:
    group = Group.objects.create(name="a group")
    with CaptureQueriesContext(connection) as queries:
        group.delete()
    assert [one["sql"] for one in queries if "savedcard" in one["sql"]] == []


# Retention


def purge(*more: str) -> str:
    out = StringIO()
    call_command("payments_pages_purge", "--payers-older-than", "365d", *more, stdout=out)
    return out.getvalue().strip()


def age(days: int = 400) -> None:
    past = timezone.now() - dt.timedelta(days=days)
    Transaction.objects.update(verified_at=past)
    SavedCard.objects.update(saved_at=past)


def test_a_card_that_nobody_pays_with_is_forgotten_with_the_payers_data(
    noor: User, cards: User, pay: Pay
) -> None:
    age()
    pay(signature="SIG_two")
    assert purge("--dry-run") == "Would purge: 3 payers forgotten, 2 saved cards."
    assert SavedCard.objects.count() == 3
    assert purge("--batch", "1") == "Purged: 3 payers forgotten, 2 saved cards."
    assert owners() == [NOOR]
    assert purge() == "Purged: 0 payers forgotten, 0 saved cards."


def test_a_card_outlives_the_data_of_its_first_payment(noor: User, pay: Pay) -> None:
    first = pay()
    age()
    pay()
    assert purge() == "Purged: 1 payers forgotten, 0 saved cards."
    card = SavedCard.objects.get()
    assert (card.first_payment.reference, card.last4) == (first, "4081")
    assert card.first_payment.card_last4 == ""


def test_the_cards_of_a_user_are_found_and_nobody_else_s(noor: User, cards: User) -> None:
    assert SavedCard.objects.of(noor).count() == 2
    assert SavedCard.objects.of(cards).count() == 1
    assert SavedCard.objects.of(AnonymousUser()).count() == 0
    assert SavedCard.objects.of(User()).count() == 0


def test_a_card_whose_owner_is_gone_has_none(noor: User, pay: Pay) -> None:
    pay()
    User.objects.filter(pk=noor.pk)._raw_delete(connection.alias)
    card = SavedCard.objects.get()
    assert card.owner is None
    card.owner_key = "of another user model"
    del card.owner
    assert card.owner is None


def test_a_site_without_users_has_no_trouble() -> None:
    code = (
        "import django; from django.conf import settings;"
        "settings.configure(INSTALLED_APPS=['payments_pages']); django.setup();"
        "import payments_pages.staff; import payments_pages.confirmation;"
        "from django.core.checks import run_checks; "
        "assert not [one for one in run_checks() if (one.id or '').startswith('fields.')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
