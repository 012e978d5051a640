"""The handlers of docs/handler.md: a small shop in a project of its own, and calls to the outside."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import responses

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.projects import run
from tests.support.snippets import ROOT, snippet

PAGE = "handler.md"

SETTINGS = """
from tests.support.base_settings import *
from tests.support.mails import LOCMEM, mail_settings

SECRET_KEY = "only for tests"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "tests.support.urls"
INSTALLED_APPS += ["payments_pages", "shop"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "shop.sqlite3",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
    }
}
PAYMENTS_PAGES = {
    "SERVICE": "sandbox",
    "SECRET_KEY": "sk_test_shop",
    "HANDLER": "shop.handlers.deliver",
}
globals().update(mail_settings(LOCMEM))
"""

STORY = """
import datetime as dt
from unittest import mock

import django

django.setup()
from django.core import mail
from django.utils import timezone
from payments_pages import testing
from payments_pages.models import Fulfilment
from payments_pages.staff import retry
from shop import mails, orders, sold_out
from shop.models import Licence, Order, Parcel, Product

mail.outbox = []


def states():
    return sorted(Fulfilment.objects.values_list("state", flat=True))


def new_page(slug, kind, left=None):
    questions = [{"display_name": "Size", "variable_name": "size"}]
    page = testing.make_page(name=slug, amount=12050, slug=slug, custom_fields=questions)
    if kind:
        Product.objects.create(page=page, kind=kind, left=left)
    return page


def sell_two_products(sandbox):
    licence, parcel = new_page("photo", "licence"), new_page("tea", "parcel")
    first = testing.pay(sandbox, licence, email="payer@shop.example")
    size = {"custom_fields": [{"display_name": "Size", "variable_name": "size", "value": "L"}]}
    second = testing.pay(sandbox, parcel, metadata=size)
    testing.assert_delivered_once(first.reference, Licence.objects.all())
    testing.assert_delivered_once(second.reference, Parcel.objects.filter(size="L"))
    (sent,) = mail.outbox
    assert sent.to == ["payer@shop.example"], sent.to
    assert Licence.objects.get().mailed_at is not None
    rushed = testing.pay(sandbox, licence, returns=False)
    testing.rush(rushed.reference, page=licence)
    crashed = testing.pay(sandbox, licence, returns=False)
    testing.deliver_after_crash(crashed.reference, page=licence)
    assert Licence.objects.count() == 3
    assert len(mail.outbox) == 3
    return licence


def hold_what_has_no_product(sandbox):
    page = new_page("new", None)
    visit = testing.pay(sandbox, page)
    assert visit.outcome == "held", visit.outcome
    Product.objects.create(page=page, kind="parcel")
    assert retry(visit.fulfilment.transaction, actor="lina") == "delivered"
    assert Parcel.objects.filter(payment__reference=visit.reference).count() == 1


def pay_an_order(sandbox):
    order = orders.place_order(5000)
    paid = testing.pay_expected(sandbox, order.expected)
    assert paid.outcome == "already_delivered", paid.outcome
    assert Order.objects.get().paid
    other = orders.place_order(5000)
    assert testing.pay_expected(sandbox, other.expected, amount=1).outcome == "held"
    assert not Order.objects.get(pk=other.pk).paid


def mail_later(sandbox, page):
    before = len(mail.outbox)
    with mock.patch("shop.mails.send_mail", side_effect=OSError("the mail server is away")):
        visit = testing.pay(sandbox, page, email="late@shop.example")
    testing.assert_delivered_once(visit.reference)
    assert len(mail.outbox) == before
    mails.mail_what_is_left()
    assert len(mail.outbox) == before, "younger than ten minutes"
    past = timezone.now() - dt.timedelta(minutes=11)
    licence = Licence.objects.select_related("payment").get(email="late@shop.example")
    licence.payment.paid_at = past
    licence.payment.save(update_fields=["paid_at"])
    for _time in range(2):
        mails.mail_what_is_left()
        assert len(mail.outbox) == before + 1


def sell_the_last(sandbox):
    page = new_page("last", "parcel", left=1)
    product = Product.objects.get(page=page)
    crashed = testing.pay(sandbox, page, returns=False)
    testing.deliver_after_crash(crashed.reference, page=page)
    product.refresh_from_db()
    assert product.left == 0, "the rollback gave it back, and the sweep took it"
    late = testing.pay(sandbox, page)
    assert late.outcome == "held", late.outcome
    assert "Sold out." in late.fulfilment.last_error
    assert Parcel.objects.filter(payment__page=page).count() == 1
    sold_out.close_sold_out_pages()
    page.refresh_from_db()
    assert not page.active
    assert not sandbox.state.find_page(page.slug)["active"]


with testing.sandboxed() as sandbox:
    page = sell_two_products(sandbox)
    hold_what_has_no_product(sandbox)
    pay_an_order(sandbox)
    mail_later(sandbox, page)
    sell_the_last(sandbox)
print("sold", *states())
"""


def test_the_shop_of_the_page_sells(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    for name in ("models.py", "handlers.py", "orders.py", "mails.py", "sold_out.py"):
        (shop / name).write_text(snippet(PAGE, name))
    (tmp_path / "shop_settings.py").write_text(SETTINGS)
    (tmp_path / "story.py").write_text(STORY)
    names = {"DJANGO_SETTINGS_MODULE": "shop_settings", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    migrate = ("-m", "django", "migrate", "--run-syncdb", "-v0")
    run(sys.executable, *migrate, cwd=tmp_path, **names)
    out = run(sys.executable, "story.py", cwd=tmp_path, **names)
    assert out.split()[0] == "sold"
    assert out.split().count("held") == 2


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configure: Any) -> Iterator[Any]:
    """The warehouse of the handler for the outside world, and that handler as the site's own."""
    folder = tmp_path / "page_shop"
    folder.mkdir()
    (folder / "handlers.py").write_text(snippet(PAGE, "external"))
    monkeypatch.syspath_prepend(tmp_path)
    configure(HANDLER="page_shop.handlers.ship", HANDLER_ATOMIC=False)
    with responses.RequestsMock() as warehouse:
        warehouse.add_passthru("http://127.0.0.1")
        yield warehouse
    del sys.modules["page_shop.handlers"], sys.modules["page_shop"]


def keys_sent(warehouse: Any) -> list[str]:
    calls = [call.request for call in warehouse.calls if "warehouse.example" in call.request.url]
    return [request.headers["Idempotency-Key"] for request in calls]


def come_for(reference: str, page: PaymentPage) -> Outcome:
    return confirm_payment(reference, door=Door.CALLBACK, page_token=page.token).outcome


@pytest.mark.django_db(transaction=True)
def test_the_handler_for_the_outside_world_says_the_same_keys_when_it_is_tried_again(
    ship: Any, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    ship.post("https://warehouse.example/reserve")
    ship.post("https://warehouse.example/send", status=503)
    ship.post("https://warehouse.example/send")
    reference = sandbox.pay("tea-box", email="payer@example.test")
    outcomes = [come_for(reference, tea_box) for _time in range(2)]
    assert outcomes == [Outcome.DELIVERY_FAILED, Outcome.DELIVERED]
    key = Fulfilment.objects.get().idempotency_key
    assert keys_sent(ship) == [f"{key}-reserve", f"{key}-send"] * 2
    bodies = {call.request.body for call in ship.calls if "warehouse" in call.request.url}
    assert bodies == {json.dumps({"reference": reference, "to": "payer@example.test"}).encode()}


@pytest.mark.django_db(transaction=True)
def test_the_handler_for_the_outside_world_stops_when_its_lease_has_ended(
    ship: Any, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    def take_too_long(_request: Any) -> tuple[int, dict[str, str], str]:
        let_time_pass(3600)
        return 200, {}, ""

    ship.add_callback("POST", "https://warehouse.example/reserve", take_too_long)
    assert come_for(sandbox.pay("tea-box"), tea_box) is Outcome.DELIVERY_FAILED
    assert keys_sent(ship) == [f"{Fulfilment.objects.get().idempotency_key}-reserve"]
