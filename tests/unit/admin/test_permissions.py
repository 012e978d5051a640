"""Who may do what: every address and every action of the admin, by every role, over HTTP.

The two tables below are the claim. Each entry is tried by each role; what is refused must leave
no trace, here or at the service. An address or action that the tables do not know fails a test.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone

from example_project.shop.models import Offer
from payments_pages.admin.transactions.actions import ACTIONS, fingerprint
from payments_pages.choices import Door, FulfilmentState, Reason, VerificationState
from payments_pages.confirmation import confirm_payment
from payments_pages.models import (
    Event,
    Fulfilment,
    PaymentPage,
    SavedCard,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.staff import make_groups
from tests.conftest import mirror_page
from tests.support.goods.models import Good

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ADMIN = "/admin/payments_pages/"
ROLES = ("anonymous", "nobody", "viewer", "operator", "manager", "superuser")
VIEW = frozenset({"viewer", "operator", "manager", "superuser"})
WORK = frozenset({"operator", "manager", "superuser"})
DECIDE = frozenset({"manager", "superuser"})
NONE: frozenset[str] = frozenset()


@dataclass
class Stage:
    """A page, a payment that is held and its saved card, fresh for each try."""

    page: PaymentPage
    row: Fulfilment
    sandbox: Sandbox

    @property
    def payment(self) -> Transaction:
        return Transaction.objects.select_related("fulfilment").get(pk=self.row.transaction_id)

    @property
    def card(self) -> SavedCard:
        return SavedCard.objects.get()

    def traces(self) -> tuple[object, ...]:
        """All that an action could have left behind, here and at the service."""
        return (
            list(Fulfilment.objects.order_by("pk").values_list("pk", "state", "reason", "attempts")),
            list(PaymentPage.objects.order_by("pk").values_list("pk", "name", "active", "drift", "synced_at")),
            list(Transaction.objects.order_by("pk").values_list("pk", "status", "page", "verified_at")),
            list(SavedCard.objects.order_by("pk").values()),
            Event.objects.count(), Verification.objects.count(), LogEntry.objects.count(),
            Good.objects.count(), len(self.sandbox.requests),
        )  # fmt: skip


Do = Callable[[Client, Stage], Any]


def get(path: str) -> Do:
    return lambda client, stage: client.get(ADMIN + path.format(stage=stage))


def post(path: str, **data: str) -> Do:
    return lambda client, stage: client.post(
        ADMIN + path.format(stage=stage),
        {name: text.format(stage=stage) for name, text in data.items()},
    )


def act(name: str, **data: str) -> Do:
    """Do one action on the held payment, as its own page would."""
    return lambda client, stage: client.post(
        f"{ADMIN}transaction/{stage.row.transaction_id}/{name}/",
        {"seen": fingerprint(stage.payment), **data},
    )


@dataclass(frozen=True)
class Entry:
    """Who may use an address, how it is tried, and what must be so beforehand."""

    allowed: frozenset[str]
    do: Do
    changes: bool = False
    before: Callable[[Stage], object] = lambda stage: None


def give_up(stage: Stage) -> None:
    Fulfilment.objects.update(reason=Reason.ATTEMPTS_SPENT)


def reject(stage: Stage) -> None:
    Fulfilment.objects.update(state=FulfilmentState.REJECTED)


def refund(stage: Stage) -> None:
    Fulfilment.objects.update(
        state=FulfilmentState.DELIVERED,
        reason="",
        money_back_at=timezone.now(),
        money_back_unseen=True,
    )


def unattribute(stage: Stage) -> None:
    Fulfilment.objects.update(reason=Reason.UNATTRIBUTED)
    Transaction.objects.update(page=None)


def drift(stage: Stage) -> None:
    PaymentPage.objects.update(drift={"name": "Tea chest"})


def lose(stage: Stage) -> None:
    """Let the service lose a page that nobody paid."""
    Transaction.objects.update(page=None)
    PaymentPage.objects.update(missing_since=timezone.now())


def can_ask(stage: Stage) -> None:
    Verification.objects.update(asked_at=None)


def still_asked(stage: Stage) -> None:
    Verification.objects.update(state=VerificationState.DUE)


PAGE, PAYMENT, ASKED, CARD = "paymentpage", "transaction", "verification", "savedcard"
PAYMENT_PK, PAGE_PK = "{stage.row.transaction_id}", "{stage.page.pk}"
CARD_PK = "{stage.card.pk}"

URLS: dict[str, list[Entry]] = {
    # Payments
    f"{PAYMENT}_changelist": [Entry(VIEW, get(f"{PAYMENT}/"))],
    f"{PAYMENT}_change": [
        Entry(VIEW, get(f"{PAYMENT}/{PAYMENT_PK}/change/")),
        Entry(NONE, post(f"{PAYMENT}/{PAYMENT_PK}/change/", status="success")),
    ],
    f"{PAYMENT}_history": [Entry(VIEW, get(f"{PAYMENT}/{PAYMENT_PK}/history/"))],
    f"{PAYMENT}_add": [Entry(NONE, get(f"{PAYMENT}/add/")), Entry(NONE, post(f"{PAYMENT}/add/"))],
    f"{PAYMENT}_delete": [Entry(NONE, post(f"{PAYMENT}/{PAYMENT_PK}/delete/", post="yes"))],
    f"{PAYMENT}_export": [Entry(DECIDE, post(f"{PAYMENT}/export/"), changes=True)],
    f"{PAYMENT}_export_workbook": [Entry(DECIDE, post(f"{PAYMENT}/export/xlsx/"), changes=True)],
    f"{PAYMENT}_verify_reference": [
        Entry(WORK, get(f"{PAYMENT}/verify/")),
        Entry(WORK, post(f"{PAYMENT}/verify/", reference="A-NEW-ONE"), changes=True),
    ],
    f"{PAYMENT}_verify": [
        Entry(WORK, get(f"{PAYMENT}/{PAYMENT_PK}/verify/")),
        Entry(WORK, act("verify"), changes=True, before=can_ask),
    ],
    f"{PAYMENT}_retry": [
        Entry(WORK, get(f"{PAYMENT}/{PAYMENT_PK}/retry/"), before=give_up),
        Entry(WORK, act("retry"), changes=True, before=give_up),
    ],
    f"{PAYMENT}_attribute": [
        Entry(WORK, get(f"{PAYMENT}/{PAYMENT_PK}/attribute/"), before=unattribute),
        Entry(WORK, act("attribute", page="tea-box", note="by phone"), changes=True, before=unattribute),
    ],
    f"{PAYMENT}_note": [
        Entry(WORK, get(f"{PAYMENT}/{PAYMENT_PK}/note/")),
        Entry(WORK, act("note", note="called back"), changes=True),
    ],
    f"{PAYMENT}_approve": [
        Entry(DECIDE, get(f"{PAYMENT}/{PAYMENT_PK}/approve/")),
        Entry(DECIDE, act("approve", note="agreed"), changes=True),
    ],
    f"{PAYMENT}_seen": [
        Entry(WORK, get(f"{PAYMENT}/{PAYMENT_PK}/seen/"), before=refund),
        Entry(WORK, act("seen"), changes=True, before=refund),
    ],
    f"{PAYMENT}_reopen": [
        Entry(DECIDE, get(f"{PAYMENT}/{PAYMENT_PK}/reopen/"), before=reject),
        Entry(DECIDE, act("reopen", note="a mistake"), changes=True, before=reject),
    ],
    f"{PAYMENT}_reject": [
        Entry(DECIDE, get(f"{PAYMENT}/{PAYMENT_PK}/reject/")),
        Entry(DECIDE, act("reject", note="refunded"), changes=True),
    ],
    # References that are asked about
    f"{ASKED}_changelist": [Entry(VIEW, get(f"{ASKED}/"))],
    f"{ASKED}_change": [
        Entry(VIEW, lambda client, stage: client.get(f"{ADMIN}{ASKED}/{Verification.objects.get().pk}/change/")),
        Entry(NONE, lambda client, stage: client.post(f"{ADMIN}{ASKED}/{Verification.objects.get().pk}/change/", {"state": "due"})),
    ],
    f"{ASKED}_stop": [
        Entry(
            WORK,
            lambda client, stage: client.post(f"{ADMIN}{ASKED}/{Verification.objects.get().pk}/stop/"),
            changes=True,
            before=still_asked,
        ),
    ],
    f"{ASKED}_history": [Entry(VIEW, lambda client, stage: client.get(f"{ADMIN}{ASKED}/{Verification.objects.get().pk}/history/"))],
    f"{ASKED}_add": [Entry(NONE, get(f"{ASKED}/add/"))],
    f"{ASKED}_delete": [Entry(NONE, lambda client, stage: client.post(f"{ADMIN}{ASKED}/{Verification.objects.get().pk}/delete/", {"post": "yes"}))],
    # Saved cards
    f"{CARD}_changelist": [Entry(WORK, get(f"{CARD}/"))],
    f"{CARD}_change": [
        Entry(WORK, get(f"{CARD}/{CARD_PK}/change/")),
        Entry(NONE, post(f"{CARD}/{CARD_PK}/change/", last4="9999")),
    ],
    f"{CARD}_history": [Entry(WORK, get(f"{CARD}/{CARD_PK}/history/"))],
    f"{CARD}_add": [Entry(NONE, get(f"{CARD}/add/"))],
    f"{CARD}_delete": [Entry(NONE, post(f"{CARD}/{CARD_PK}/delete/", post="yes"))],
    # Pages
    f"{PAGE}_changelist": [Entry(VIEW, get(f"{PAGE}/"))],
    f"{PAGE}_change": [
        Entry(VIEW, get(f"{PAGE}/{PAGE_PK}/change/")),
        Entry(DECIDE, post(f"{PAGE}/{PAGE_PK}/change/", name="Tea")),
    ],
    f"{PAGE}_history": [Entry(VIEW, get(f"{PAGE}/{PAGE_PK}/history/"))],
    f"{PAGE}_add": [
        Entry(DECIDE, get(f"{PAGE}/add/")),
        Entry(DECIDE, post(f"{PAGE}/add/", name="Mint", amount="5", slug="mint"), changes=True),
    ],
    f"{PAGE}_delete": [Entry(NONE, post(f"{PAGE}/{PAGE_PK}/delete/", post="yes"))],
    f"{PAGE}_sync": [Entry(WORK, post(f"{PAGE}/sync/"), changes=True)],
    f"{PAGE}_slug": [Entry(DECIDE, get(f"{PAGE}/slug/?slug=mint"))],
    f"{PAGE}_qr": [Entry(VIEW, get(f"{PAGE}/{PAGE_PK}/qr.svg"))],
    f"{PAGE}_drift": [
        Entry(DECIDE, post(f"{PAGE}/{PAGE_PK}/drift/", keep="1"), before=drift),
    ],
    f"{PAGE}_seller": [
        Entry(DECIDE, post(f"{PAGE}/{PAGE_PK}/seller/", seller="elsewhere"), changes=True),
    ],
}  # fmt: skip
"""By the name of each address, without `payments_pages_`."""


@dataclass(frozen=True)
class Choice:
    """Who may choose an action in a list, and what must be so beforehand; `data` confirms it."""

    allowed: frozenset[str]
    data: tuple[tuple[str, str], ...] = ()
    before: Callable[[Stage], object] = lambda stage: None


LISTS: dict[tuple[str, str], Choice] = {
    (PAYMENT, "verify_again"): Choice(WORK, before=can_ask),
    (PAYMENT, "retry_delivery"): Choice(WORK, before=give_up),
    (PAYMENT, "approve_held"): Choice(DECIDE, (("confirmed", "yes"), ("note", "agreed"))),
    (PAYMENT, "attribute_held"): Choice(
        WORK, (("confirmed", "yes"), ("page", "tea-box")), before=unattribute
    ),
    (PAYMENT, "reject_held"): Choice(DECIDE, (("confirmed", "yes"), ("note", "refunded"))),
    (PAYMENT, "export_selected_workbook"): Choice(DECIDE),
    (PAYMENT, "export_selected"): Choice(DECIDE),
    (ASKED, "verify_again"): Choice(WORK, before=can_ask),
    (ASKED, "stop_asking"): Choice(WORK, before=still_asked),
    (CARD, "forget_selected"): Choice(DECIDE, (("confirmed", "yes"),)),
    (PAGE, "deactivate_pages"): Choice(DECIDE, (("confirmed", "yes"),)),
    (PAGE, "activate_pages"): Choice(DECIDE),
    (PAGE, "keep_drift"): Choice(DECIDE, before=drift),
    (PAGE, "send_drift_back"): Choice(DECIDE, (("confirmed", "yes"),), before=drift),
    (PAGE, "say_sold_here"): Choice(DECIDE, (("confirmed", "yes"),)),
    (PAGE, "say_sold_elsewhere"): Choice(DECIDE, (("confirmed", "yes"),)),
    (PAGE, "remove_pages"): Choice(DECIDE, (("confirmed", "yes"),), before=lose),
}
"""By model and action."""


# The stage


@pytest.fixture
def people(db: None) -> dict[str, User | None]:
    """One person of each role; the groups are those that the command makes."""
    make_groups()
    found: dict[str, User | None] = {"anonymous": None}
    for role in ("nobody", "viewer", "operator", "manager"):
        found[role] = user = User.objects.create_user(role, is_staff=True)
        user.groups.set(Group.objects.filter(name=f"Payments: {role}"))
    found["superuser"] = User.objects.create_superuser("superuser")
    return found


def sign_in(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def set_up(people: dict[str, User | None], sandbox: Sandbox) -> Callable[[], Stage]:
    """Make a page and a payment of less than its price, as if for the first time."""

    def make() -> Stage:
        LogEntry.objects.all().delete()
        for model in (
            SavedCard,
            Good,
            Offer,
            Event,
            Fulfilment,
            Transaction,
            Verification,
            PaymentPage,
        ):
            model._base_manager.all()._raw_delete(connection.alias)
        sandbox.reset()
        page = mirror_page(sandbox.add_page(name="Tea box", slug="tea-box", amount=10000))
        reference = sandbox.pay("tea-box", amount=9999)
        confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
        row = Fulfilment.objects.get()
        assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
        SavedCard.objects.create(
            owner_key=str(User.objects.get(username="nobody").pk),
            card_key="k",
            domain="test",
            first_payment_id=row.transaction_id,
            saved_at=timezone.now(),
        )
        return Stage(page, row, sandbox)

    return make


def is_login(response: HttpResponse) -> bool:
    return response.status_code == 302 and response["Location"].startswith("/admin/login/")


# Every address, every action


@pytest.mark.parametrize("name", URLS)
def test_each_address_is_for_its_roles_and_no_other(
    name: str, people: dict[str, User | None], set_up: Callable[[], Stage]
) -> None:
    for entry, role in itertools.product(URLS[name], ROLES):
        stage = set_up()
        entry.before(stage)
        traces = stage.traces()
        response = entry.do(sign_in(people[role]), stage)
        read_whole(response)
        case = f"{name}, {role}: {response.status_code}"
        if role == "anonymous":
            assert is_login(response), case
        elif role in entry.allowed:
            assert response.status_code in {200, 302, 422}, case
            assert not is_login(response), case
        else:
            assert response.status_code == 403, case
        if role not in entry.allowed:
            assert stage.traces() == traces, case
        elif entry.changes:
            assert stage.traces() != traces, case


@pytest.mark.parametrize(("model", "action"), LISTS)
def test_each_action_of_a_list_is_for_its_roles_and_no_other(
    model: str, action: str, people: dict[str, User | None], set_up: Callable[[], Stage]
) -> None:
    choice = LISTS[model, action]
    for role in ROLES:
        stage = set_up()
        choice.before(stage)
        client = sign_in(people[role])
        url = f"{ADMIN}{model}/"
        chosen = {
            PAYMENT: stage.row.transaction_id,
            PAGE: stage.page.pk,
            ASKED: Verification.objects.get().pk,
            CARD: stage.card.pk,
        }[model]
        offered = f'<option value="{action}">' in client.get(url).content.decode()
        assert offered == (role in choice.allowed), role
        traces = stage.traces()
        data = {"action": action, "_selected_action": chosen}
        data |= {"seen": f"{chosen}:{fingerprint(stage.payment)}", **dict(choice.data)}
        response = client.post(url, data)
        read_whole(response)
        if role == "anonymous":
            assert is_login(response)
        if role not in VIEW:
            assert role == "anonymous" or response.status_code == 403
        assert (stage.traces() != traces) == (role in choice.allowed), role


def read_whole(response: Any) -> None:
    """Take a download to its end, where its file is closed."""
    for _piece in response if response.streaming else ():
        pass


def registered() -> dict[str, Any]:
    return {
        str(model._meta.model_name): model_admin
        for model, model_admin in admin.site._registry.items()
        if model._meta.app_label == "payments_pages"
    }


def test_the_tables_know_every_address_and_every_action() -> None:
    names = {
        str(pattern.name).removeprefix("payments_pages_")
        for model_admin in registered().values()
        for pattern in model_admin.get_urls()
        if isinstance(pattern, URLPattern) and pattern.name
    }
    assert names == set(URLS)
    actions = {
        (model, action if isinstance(action, str) else action.__name__)
        for model, model_admin in registered().items()
        for action in model_admin.actions or ()
    }
    assert actions == set(LISTS)
    assert {action.name for action in ACTIONS} <= {
        name.removeprefix(f"{PAYMENT}_") for name in names
    }


def test_no_action_of_the_sites_own_is_offered(people: dict[str, User | None], set_up: Any) -> None:
    """Such as Django's "delete selected", which a superuser would be offered."""
    set_up()
    for model in (PAYMENT, PAGE, ASKED, CARD):
        page = sign_in(people["superuser"]).get(f"{ADMIN}{model}/").content.decode()
        assert "delete_selected" not in page


# The buttons


@pytest.mark.parametrize("role", sorted(VIEW))
def test_a_payments_page_offers_just_what_this_person_may_do(
    role: str, people: dict[str, User | None], set_up: Callable[[], Stage]
) -> None:
    stage = set_up()
    client = sign_in(people[role])
    for before in (lambda stage: None, give_up, unattribute):
        before(stage)
        url = f"{ADMIN}{PAYMENT}/{stage.row.transaction_id}/"
        page = client.get(f"{url}change/").content.decode()
        offered = {action.name for action in ACTIONS if f'href="{url}{action.name}/"' in page}
        may = {
            action.name
            for action in ACTIONS
            if role in URLS[f"{PAYMENT}_{action.name}"][0].allowed
            and action.is_possible(stage.payment)
        }
        assert offered == may
        assert (len(may) > 2) == (role in WORK)


@pytest.mark.parametrize("role", sorted(VIEW))
def test_the_lists_offer_just_the_buttons_that_this_person_may_press(
    role: str, people: dict[str, User | None], set_up: Callable[[], Stage]
) -> None:
    set_up()
    client = sign_in(people[role])
    payments = client.get(f"{ADMIN}{PAYMENT}/").content.decode()
    assert (f'action="{ADMIN}{PAYMENT}/export/' in payments) == (role in DECIDE)
    assert (f'href="{ADMIN}{PAYMENT}/verify/"' in payments) == (role in WORK)
    pages = client.get(f"{ADMIN}{PAGE}/").content.decode()
    assert (f'action="{ADMIN}{PAGE}/sync/"' in pages) == (role in WORK)
    assert (f'href="{ADMIN}{PAGE}/add/"' in pages) == (role in DECIDE)


@pytest.mark.parametrize("role", ["nobody", "viewer", "operator", "manager", "superuser"])
def test_the_index_shows_payments_to_those_who_may_see_them(
    role: str, people: dict[str, User | None], set_up: Callable[[], Stage]
) -> None:
    set_up()
    client = sign_in(people[role])
    assert (f'href="{ADMIN}{PAYMENT}/"' in client.get("/admin/").content.decode()) == (role in VIEW)
    assert client.get(ADMIN).status_code == (200 if role in VIEW else 404)
