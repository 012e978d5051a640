"""Money that went back: beside the totals, in the list, and in the recipe of the documentation."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.signals import transaction_changed
from payments_pages.staff import take_money_back
from tests.unit.admin.payments import days_ago, paid

pytestmark = pytest.mark.django_db

LIST = "/admin/payments_pages/transaction/"
PAGE = (Path(__file__).parents[3] / "docs" / "money-back.md").read_text()


@pytest.fixture
def shown(client: Client) -> Any:
    client.force_login(User.objects.create_superuser("staff"))
    return lambda **query: client.get(LIST, query)


def delivered(**fields: Any) -> Fulfilment:
    row = paid(**fields)
    return Fulfilment.objects.create(
        transaction=row, reference_key=row.reference_key, state="delivered"
    )


def told(**fields: Any) -> Fulfilment:
    row = delivered(**fields)
    Fulfilment.objects.filter(pk=row.pk).update(
        money_back_at=timezone.now(), money_back_unseen=False
    )
    return row


def notes(response: Any) -> list[tuple[str, str]]:
    """Return the words and the address of each line beside the totals."""
    text = response.content.decode()
    found = re.findall(
        r'<p class="pp-totals-note">(?:<bdi.*?</bdi>: )?<a href="(.*?)">(.*?)</a>', text
    )
    return [
        (re.sub("<.*?>", "", words).replace("\N{NO-BREAK SPACE}", " "), url.replace("&amp;", "&"))
        for url, words in found
    ]


def test_what_was_reversed_is_said_by_currency_and_listed(shown: Any, client: Client) -> None:
    for amount in (10000, 250):
        paid(status="reversed", amount=amount, paid_at=days_ago(3))
    paid(status="reversed", amount=7, currency="JOD", paid_at=days_ago(3))
    paid(status="reversed", amount=1, paid_at=days_ago(40))
    paid(status="reversed", amount=1, paid_at=days_ago(3), domain="live")
    paid(amount=500, paid_at=days_ago(3))
    ils, jod = notes(shown())
    assert ils[0] == "2 payments of the last 30 days were reversed: 102.50 ILS"
    assert jod[0] == "1 payment of the last 30 days was reversed: 0.07 JOD"
    listed = client.get(ils[1]).context["cl"].queryset
    assert sorted(row.amount for row in listed) == [250, 10000]


def test_it_is_said_where_nothing_else_was_paid(shown: Any) -> None:
    assert notes(shown()) == []
    paid(status="reversed", paid_at=days_ago(1))
    response = shown()
    assert "No payment has succeeded in the last 30 days." in response.content.decode()
    assert len(notes(response)) == 1


def test_refunds_and_disputes_are_counted_and_listed(shown: Any, client: Client) -> None:
    first = told(paid_at=days_ago(60))
    delivered(paid_at=days_ago(1))
    ((words, url),) = notes(shown())
    assert (
        words
        == "In the last 30 days the service told of a refund in part or a dispute about 1 payment"
    )
    assert list(client.get(url).context["cl"].queryset) == [first.transaction]
    told(paid_at=days_ago(2))
    ((words, _url),) = notes(shown())
    assert words.endswith("about 2 payments")


def test_a_reversed_payment_is_not_said_twice(shown: Any) -> None:
    told(status="reversed", paid_at=days_ago(1))
    ((words, _url),) = notes(shown())
    assert "was reversed" in words


def test_a_filter_by_page_leaves_the_money_of_other_pages_out(
    shown: Any, tea_box: PaymentPage
) -> None:
    paid(status="reversed", paid_at=days_ago(1))
    told(paid_at=days_ago(1))
    assert len(notes(shown())) == 2
    assert notes(shown(page__id__exact=tea_box.pk)) == []


def test_currencies_are_not_added_up_and_unreadable_amounts_are_counted() -> None:
    paid(status="reversed", amount=None, paid_at=days_ago(1))
    paid(status="reversed", amount=5, currency="ils", paid_at=days_ago(1))
    paid(status="reversed", amount=9, currency="USD", paid_at=days_ago(1))
    back = take_money_back("test")
    figures = {
        one.code: (one.figure.count, one.figure.amount, one.figure.unreadable)
        for one in back.reversals
    }
    assert figures == {"ILS": (2, 5, 1), "USD": (1, 9, 0)}


def test_the_list_of_what_was_reversed_has_every_spelling_of_its_currency(
    shown: Any, client: Client
) -> None:
    for currency in ("ILS", "ils", "Ils"):
        paid(status="reversed", amount=1, currency=currency, paid_at=days_ago(1))
    ((words, url),) = notes(shown())
    assert words.startswith("3 payments")
    assert client.get(url).context["cl"].queryset.count() == 3


# The recipe


class Licences(list[SimpleNamespace]):
    """Stand in for the manager of a merchant's model."""

    def filter(self, **wanted: Any) -> "Licences":
        return Licences(
            row for row in self if all(getattr(row, key) == value for key, value in wanted.items())
        )

    def update(self, *, blocked: bool) -> None:
        for row in self:
            row.blocked = blocked


def run(name: str, **given: Any) -> dict[str, Any]:
    match = re.search(rf"<!-- snippet: {name} -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert match
    names = {**given}
    exec(compile(match[1], f"money-back.md: {name}", "exec"), names)
    return names


def test_the_recipe_takes_back_what_was_delivered_and_reversed_by_signal_and_by_command() -> None:
    kept, gone, lost = (delivered(paid_at=days_ago(1)).transaction for _number in range(3))
    objects = Licences(
        SimpleNamespace(reference=row.reference, blocked=False) for row in (kept, gone, lost)
    )
    licence = SimpleNamespace(objects=objects)
    take_back = run("listen", Licence=licence)["take_back"]
    try:
        for row in (gone, lost):
            row.status = "reversed"
            row.save()
        transaction_changed.send_robust(sender=type(gone), transaction=gone, previous="success")
        transaction_changed.send_robust(sender=type(kept), transaction=kept, previous="pending")
        assert [row.blocked for row in objects] == [False, True, False]
        for _time in range(2):
            run("reconcile", Licence=licence)["take_back_all"]()
            assert [row.blocked for row in objects] == [False, True, True]
    finally:
        transaction_changed.disconnect(take_back)
