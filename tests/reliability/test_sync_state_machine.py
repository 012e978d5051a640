"""Whatever happened to pages at the service between two syncs, one sync is enough (D02)."""

import uuid
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from example_project.shop.models import Offer
from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import PageError, ServiceError
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.pages import create_page, slug_key, sync_pages
from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.state import SlugTakenError
from tests.support.goods.models import Good
from tests.support.scale import LONG, count

pytestmark = pytest.mark.django_db(transaction=True)

# Few, and some that a collation takes for one: most draws meet a slug that another page has or had.
SLUGS = ("one", "One", "öne", "two", "three", "check", "a" * 100)
ROWS: tuple[Any, ...] = (
    Good, Offer, Event, Fulfilment, Transaction, Verification, ExpectedPayment, PaymentPage,
)  # fmt: skip
slugs = st.sampled_from(SLUGS)
places = st.integers(0, 9)
amounts = st.one_of(st.none(), st.integers(1, 5), st.integers(-1, 0))


class Pages(RuleBasedStateMachine):
    """Change pages at the service, pay on them, sync, and compare."""

    sandbox: Sandbox

    @initialize()
    def begin(self) -> None:
        self.sandbox.reset()
        self.tokens: dict[int, uuid.UUID] = {}
        self.paid: dict[str, int] = {}
        self.synced = True

    def listed(self) -> list[dict[str, Any]]:
        pages: list[dict[str, Any]] = self.sandbox.state.pages()
        return pages

    def pick(self, place: int) -> dict[str, Any]:
        pages = self.listed()
        return pages[place % len(pages)]

    def has_pages(self) -> bool:
        return bool(self.sandbox.state.pages())

    @rule(slug=slugs, amount=amounts)
    def appear(self, slug: str, amount: int | None) -> None:
        """Somebody makes a page in the service's own dashboard."""
        try:
            page = self.sandbox.add_page(name=f"Page {slug}", slug=slug)
        except SlugTakenError:
            return
        self.sandbox.state.change_page(page["id"], {"amount": amount})
        self.synced = False

    @rule(slug=st.sampled_from(("one", "two", "three", "four")), answered=st.booleans())
    def make(self, slug: str, answered: bool) -> None:
        """Staff make a page here; perhaps the answer is lost."""
        if not answered:
            self.sandbox.faults.add(operation="create", kind="answer_lost", times=1)
            self.sandbox.faults.add(operation="fetch", kind="status", status=422, times=1)
        with suppress(PageError, ServiceError):
            create_page(name="Ours", amount=5, slug=slug)
        self.sandbox.faults.clear()
        self.synced = False

    @precondition(has_pages)
    @rule(place=places, slug=slugs)
    def rename(self, place: int, slug: str) -> None:
        try:
            self.sandbox.state.change_page(self.pick(place)["id"], {"slug": slug})
        except SlugTakenError:
            return
        self.synced = False

    @precondition(has_pages)
    @rule(place=places, other=places)
    def swap(self, place: int, other: int) -> None:
        one, two = self.pick(place), self.pick(other)
        if one["id"] != two["id"]:
            for page, slug in ((one, "on-its-way"), (two, one["slug"]), (one, two["slug"])):
                self.sandbox.state.change_page(page["id"], {"slug": slug})
        self.synced = False

    @precondition(has_pages)
    @rule(place=places, amount=amounts, name=st.sampled_from(("Tea", "  شاي ", "n" * 300)))
    def change(self, place: int, amount: int | None, name: str) -> None:
        self.sandbox.state.change_page(self.pick(place)["id"], {"amount": amount, "name": name})
        self.synced = False

    @precondition(has_pages)
    @rule(place=places, again=st.booleans())
    def remove(self, place: int, again: bool) -> None:
        page = self.sandbox.state.forget_page(self.pick(place)["id"])
        if again:
            self.sandbox.add_page(name=page["name"], slug=page["slug"], amount=7)
        self.synced = False

    @precondition(has_pages)
    @rule(place=places)
    def pay(self, place: int) -> None:
        """A payer comes back by the callback of the page that they paid on."""
        page = self.pick(place)
        row = PaymentPage.objects.filter(remote_id=page["id"]).first()
        if row is None or not page["amount"] or page["amount"] < 1:
            return
        reference = self.sandbox.pay(str(page["id"]))
        confirm_payment(reference, door=Door.CALLBACK, page_token=row.token)
        self.paid[reference] = page["id"]

    @rule()
    def sync(self) -> None:
        sync_pages()
        self.synced = True

    @invariant()
    def one_sync_is_enough(self) -> None:
        if not self.synced:
            return
        here = {row.remote_id: row for row in PaymentPage.objects.filter(remote_id__isnull=False)}
        sold = {
            page["id"]: page
            for page in self.listed()
            if page["amount"] is None or page["amount"] > 0
        }
        for number, page in sold.items():
            row = here[number]
            assert (row.slug, row.name, row.amount) == (
                page["slug"],
                page["name"][:255],
                page["amount"],
            )
            assert (row.missing_since, row.slug_key) == (None, slug_key(page["slug"]))
        listed = {page["id"] for page in self.listed()}
        assert {n for n, row in here.items() if row.missing_since is None} <= listed

    @invariant()
    def tokens_stay_with_their_numbers(self) -> None:
        rows = PaymentPage.objects.filter(remote_id__isnull=False)
        for number, token in rows.values_list("remote_id", "token"):
            assert number is not None
            assert self.tokens.setdefault(number, token) == token
        assert len(set(self.tokens.values())) == len(self.tokens)

    @invariant()
    def payments_stay_with_their_pages(self) -> None:
        rows = Transaction.objects.values_list("reference", "page__remote_id")
        assert dict(rows) == self.paid

    def teardown(self) -> None:
        self.sandbox.faults.clear()
        sync_pages()
        self.synced = True
        self.one_sync_is_enough()
        for model in ROWS:
            model._base_manager.all()._raw_delete(connection.alias)


EXAMPLES = count(40, 400) if connection.vendor == "sqlite" else count(12, 100)


def test_one_sync_is_enough_whatever_happened(sandbox: Sandbox) -> None:
    """By default the same examples every time; TESTS_LONG=1 draws others, and more."""
    machine = type("Machine", (Pages,), {"sandbox": sandbox})
    chosen = settings(
        max_examples=EXAMPLES,
        stateful_step_count=20,
        derandomize=not LONG,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)
