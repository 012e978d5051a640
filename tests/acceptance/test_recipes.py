"""The recipes are cooked: each is a shop's own code, and payers pay for it at the sandbox."""

import csv
import datetime as dt
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import responses
from asgiref.sync import async_to_sync
from django.core import mail
from django.core.management import call_command
from django.db import transaction
from django.test import Client, RequestFactory
from django.utils import timezone

from payments_pages import testing
from payments_pages.choices import Outcome
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_held
from payments_pages.staff import retry
from payments_pages.testing import run_sweep
from tests.acceptance.recipe_shop import PAGE, recipe_shop

pytestmark = pytest.mark.django_db(transaction=True)

PAYER = "payer@example.test"


@pytest.fixture
def shop(
    transactional_db: None, tmp_path_factory: pytest.TempPathFactory, settings: Any
) -> Iterator[Any]:
    with recipe_shop(tmp_path_factory.mktemp("recipes"), settings) as load:
        yield load


@pytest.fixture
def use(shop: Any, sandbox: Sandbox, configure: Any) -> Any:
    """Let the site's handler be that of a recipe; return the recipe's module."""

    def change(name: str, function: str = "deliver", **more: Any) -> Any:
        configure(HANDLER=f"shop.{name}.{function}", **more)
        return shop(name)

    return change


def test_every_python_block_is_named_and_each_is_run_here() -> None:
    assert PAGE.name == "recipes.md"
    assert len(PAGE.names()) == PAGE.text.count("```python")
    used = Path(__file__).read_text()
    for name in PAGE.names():
        assert f'"{name.replace("-", "_")}"' in used or f'"{name}"' in used, name


def test_each_page_gives_what_it_sells_and_an_unknown_one_goes_to_staff(
    use: Any, shop: Any, sandbox: Sandbox
) -> None:
    use("products")
    models = shop("models")
    tea = testing.make_page(name="Tea box", slug="tea-box")
    course = testing.make_page(name="Course", slug="tea-course", amount=5000)
    other = testing.make_page(name="Other", slug="other", amount=7000)
    visit = testing.pay(sandbox, tea)
    assert models.Parcel.objects.get().reference == visit.reference
    testing.pay(sandbox, course, email=PAYER)
    assert models.Letter.objects.get().to == PAYER
    assert testing.pay(sandbox, other).fulfilment.reason == "permanent_error"  # type: ignore[union-attr]


def test_an_order_is_paid_once_and_a_cancelled_one_goes_to_staff(
    use: Any, shop: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    orders = use("orders")
    models = shop("models")
    expected = Transaction.expected_payment.field.related_model  # type: ignore[attr-defined]
    placed, reference = orders.place_order(5000)
    gone, late = orders.place_order(6000)
    models.Order.objects.filter(pk=gone.pk).update(state="cancelled")
    for text in (reference, late):
        testing.pay_expected(sandbox, expected.objects.get(reference=text))
    assert models.Order.objects.get(pk=placed.pk).state == "paid"
    assert models.Order.objects.get(pk=gone.pk).state == "cancelled"
    held = Fulfilment.objects.get(transaction__reference=late)
    assert (held.state, held.reason) == ("held", "permanent_error")
    assert "was cancelled" in held.last_error
    assert testing.pay(sandbox, tea_box).fulfilment.state == "held"  # type: ignore[union-attr]


def test_a_letter_is_written_with_the_delivery_and_sent_once(
    use: Any, shop: Any, sandbox: Sandbox, tea_box: PaymentPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters, models = use("letters"), shop("models")
    visit = testing.pay(sandbox, tea_box, email=PAYER, returns=False)
    testing.deliver_after_crash(visit.reference, page=tea_box)
    assert models.Letter.objects.count() == 1
    assert mail.outbox == []
    for _time in range(2):
        letters.send_letters()
    (sent,) = mail.outbox
    assert sent.to == [PAYER]
    assert visit.reference in str(sent.body)
    key = Fulfilment.objects.get().idempotency_key
    assert sent.extra_headers["Message-ID"] == f"<{key}@shop.example>"


def test_two_senders_send_one_letter_and_one_that_dies_is_followed_by_another(
    use: Any, shop: Any, sandbox: Sandbox, tea_box: PaymentPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters, models = use("letters"), shop("models")
    testing.pay(sandbox, tea_box, email=PAYER)
    mail_class = letters.EmailMessage

    def die(_message: Any) -> None:
        letters.send_letters()  # a second sender, at this moment
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(mail_class, "send", die)
        with pytest.raises(SystemExit):
            letters.send_letters()
    letters.send_letters()
    assert mail.outbox == []
    models.Letter.objects.update(free_at=timezone.now() - dt.timedelta(seconds=1))
    letters.send_letters()
    assert len(mail.outbox) == 1


def test_the_last_one_is_sold_once_and_staff_can_give_what_came_in_later(
    use: Any, shop: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    use("stock")
    models = shop("models")
    models.Stock.objects.create(product="tea-box", left=1)
    first, second = (testing.pay(sandbox, tea_box) for _payer in range(2))
    assert [visit.outcome for visit in (first, second)] == ["already_delivered", "held"]
    assert models.Stock.objects.get().left == 0
    held = Fulfilment.objects.get(state="held")
    assert held.get_reason_display() == "the delivery cannot succeed"
    assert held.get_reason_display() in PAGE.text
    models.Stock.objects.update(left=1)
    assert retry(held.transaction, actor="noor") == Outcome.DELIVERED
    assert models.Parcel.objects.count() == 2


def test_rivals_for_the_last_one_cannot_both_have_it(
    use: Any, shop: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    use("stock")
    models = shop("models")
    models.Stock.objects.create(product="tea-box", left=2)
    visits = [testing.pay(sandbox, tea_box, returns=False) for _payer in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda visit: testing.rush(visit.reference, times=2, page=tea_box), visits))
    assert models.Stock.objects.get().left == 0
    assert models.Parcel.objects.count() == 2
    assert Fulfilment.objects.filter(state="held").count() == 2


def test_the_warehouse_s_answers_are_done_never_or_later(
    use: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    use("warehouse", "ship", HANDLER_ATOMIC=False)
    with responses.RequestsMock() as warehouse:
        warehouse.add_passthru("http://127.0.0.1")
        for status in (500, 409, 422):
            warehouse.post("https://warehouse.example/orders", status=status)
        first = testing.pay(sandbox, tea_box)
        assert first.outcome == "delivery_failed"
        run_sweep(after=60)
        assert first.outcome == "already_delivered"
        assert testing.pay(sandbox, tea_box).fulfilment.reason == "permanent_error"  # type: ignore[union-attr]
        ours = [one.request for one in warehouse.calls if "warehouse" in str(one.request.url)]
    keys = [request.headers["Idempotency-Key"] for request in ours]
    assert keys[0] == keys[1] != keys[2]


def test_a_donor_chooses_the_amount(use: Any, shop: Any, sandbox: Sandbox) -> None:
    use("donations")
    page = testing.make_page(name="Gifts", amount=None)
    for amount in (100, 123456):
        testing.pay(sandbox, page, amount=amount)
    given = shop("models").Donation.objects.order_by("amount")
    assert list(given.values_list("amount", "currency")) == [(100, "ILS"), (123456, "ILS")]


def test_own_code_asks_in_a_coroutine_and_after_a_commit(
    shop: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    module = shop("own_code")
    paid, failed = sandbox.pay("tea-box"), sandbox.pay("tea-box", status="failed")
    testing.come_back(paid, page=tea_box)
    request = RequestFactory().get("/")
    answers = [async_to_sync(module.is_paid)(request, text).content for text in (paid, failed)]
    assert answers == [b'{"paid": true}', b'{"paid": false}']
    told = sandbox.pay("tea-box")
    with transaction.atomic():
        module.take_telephone_order(10000, told)
        transaction.set_rollback(True)
    assert not Transaction.objects.filter(reference=told).exists()
    module.take_telephone_order(10000, told)
    assert Transaction.objects.get(reference=told).status == "success"


@pytest.mark.parametrize("chat", ["well", "away"])
def test_staff_are_told_in_their_language_and_a_chat_that_is_away_changes_nothing(
    chat: str, shop: Any, sandbox: Sandbox, tea_box: PaymentPage, settings: Any
) -> None:
    settings.STAFF_CHAT = "https://chat.example/hook"
    module = shop("notice")
    fulfilment_held.connect(module.tell_staff)  # again, for a module that was imported before
    assert "timeout=3)" in PAGE.snippet("notice")
    try:
        with responses.RequestsMock() as web:
            web.add_passthru("http://127.0.0.1")
            body = requests.ConnectionError() if chat == "away" else "ok"
            web.post(settings.STAFF_CHAT, body=body)
            visit = testing.pay(
                sandbox, tea_box, amount=1, email=PAYER,
                client=Client(headers={"Accept-Language": "ar"}),
            )  # fmt: skip
            (said,) = [
                str(one.request.body) for one in web.calls if "chat." in str(one.request.url)
            ]
    finally:
        fulfilment_held.disconnect(module.tell_staff)
    assert visit.outcome == "held"
    assert visit.response is not None
    assert visit.response.status_code == 303
    assert "paid less than the price" in said
    assert visit.reference in said
    assert PAYER not in said


def test_the_own_result_page_says_what_is_true_now(
    shop: Any, sandbox: Sandbox, tea_box: PaymentPage, settings: Any, tmp_path: Path
) -> None:
    from django.urls import include, path

    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "thanks.html").write_text("{{ state }} {{ reference }}")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    names: dict[str, Any] = {"PAYMENTS_PAGES": settings.PAYMENTS_PAGES}
    exec(compile(PAGE.snippet("setting"), "setting", "exec"), names)
    settings.PAYMENTS_PAGES = names["PAYMENTS_PAGES"]
    ours = path("payments/", include("payments_pages.urls"))
    settings.ROOT_URLCONF = (*shop("thanks").urlpatterns, ours)

    def shown(payment: Any) -> str:
        visit = testing.pay(sandbox, tea_box, email=PAYER, **payment)
        assert visit.response is not None
        page = Client().get(visit.response.headers["Location"])
        assert "no-store" in page.headers["Cache-Control"]
        state, _space, reference = page.content.decode().rpartition(" ")
        assert reference == visit.reference
        return state

    states = [shown(payment) for payment in ({}, {"amount": 1}, {"status": "failed"})]
    assert states == ["delivered", "held", "not paid"]
    assert shown({"status": "reversed"}) == "returned"
    assert Client().get("/thanks/00000000-0000-4000-8000-000000000000/").status_code == 404


def test_the_books_have_the_day_s_successes_of_one_mode(
    shop: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    days = ["2026-11-02T21:59:59Z", "2026-11-02T22:00:00Z", "2026-11-03T21:59:59Z",
            "2026-11-03T22:00:00Z"]  # fmt: skip
    paid = [testing.pay(sandbox, tea_box, paid_at=moment).reference for moment in days]
    testing.pay(sandbox, tea_box, status="failed", paid_at=days[1])

    def books(*arguments: str) -> list[dict[str, str]]:
        out = io.StringIO()
        call_command("books", *arguments, stdout=out)
        return list(csv.DictReader(io.StringIO(out.getvalue())))

    rows = books("2026-11-03", "--mode", "test")  # in Hebron the day begins at 22:00 UTC
    assert [row["reference"] for row in rows] == paid[1:3]
    assert (rows[0]["amount"], rows[0]["currency"]) == ("10000", "ILS")
    assert (rows[0]["page__slug"], rows[0]["fulfilment__state"]) == ("tea-box", "delivered")
    assert books("2026-11-03") == []
    today = testing.pay(
        sandbox, tea_box, paid_at=(timezone.now() - dt.timedelta(days=1)).isoformat()
    )
    assert [row["reference"] for row in books("--mode", "test")] == [today.reference]
