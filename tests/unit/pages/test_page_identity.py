"""A page is its number in its mode: slugs and names change hands, tokens and payments do not."""

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test import Client

from payments_pages.choices import Attributed, Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage, Transaction
from payments_pages.pages import (
    create_page,
    keep_remote,
    refresh_page,
    set_active,
    slug_key,
    sync_pages,
    update_page,
)
from payments_pages.sandbox import Sandbox
from tests.conftest import meanwhile
from tests.support.goods.models import Good
from tests.support.pages_admin import LIST, add, change_url, text

pytestmark = pytest.mark.django_db(transaction=True)

LIVE_KEY = "sk_live_suite"


def go_live(sandbox: Sandbox, configure: Any) -> None:
    """Be another account's mode: its pages are numbered from 18, as the test account's are."""
    sandbox.reset()
    sandbox.set_account(secret_key=LIVE_KEY)
    configure(SECRET_KEY=LIVE_KEY)


def there(sandbox: Sandbox) -> dict[int, tuple[str, str, int]]:
    return {
        page["id"]: (page["slug"], page["name"], page["amount"]) for page in sandbox.state.pages()
    }


def here(mode: str = "test") -> dict[Any, tuple[str, str, int | None]]:
    rows = PaymentPage.objects.filter(domain=mode, missing_since=None)
    return {row.remote_id: (row.slug, row.name, row.amount) for row in rows}


def tokens() -> dict[Any, uuid.UUID]:
    return {row.remote_id: row.token for row in PaymentPage.objects.all()}


def check_keys() -> None:
    """Every slug leads to the page that has it, in the mirror as at the service."""
    for row in PaymentPage.objects.filter(missing_since=None):
        assert row.slug_key == slug_key(row.slug, row.domain), row.slug


def rename(sandbox: Sandbox, **slugs: str) -> None:
    """Give pages, by name, other slugs, all at once: the service need not do it one by one."""
    pages = {page["name"]: page["id"] for page in sandbox.state.pages()}
    for name in slugs:
        sandbox.state.change_page(pages[name], {"slug": f"on-its-way-{name}"})
    for name, slug in slugs.items():
        sandbox.state.change_page(pages[name], {"slug": slug})


def fill(sandbox: Sandbox, *slugs: str) -> None:
    for number, slug in enumerate(slugs):
        sandbox.add_page(name=slug, slug=slug, amount=100 + number)


@pytest.mark.parametrize(
    "slugs",
    [
        {"one": "two", "two": "one"},
        {"one": "two", "two": "free"},
        {"two": "free", "one": "two"},
        {"one": "two", "two": "three", "three": "one"},
        {"three": "two", "two": "one", "one": "three"},
        {"one": "ONE", "two": "one"},
        {"one": "two", "two": "three", "three": "four"},
        {"one": "One", "two": "öne", "three": "one"},
    ],
    ids=str,
)  # fmt: skip
def test_renames_in_chains_and_circles_are_followed_in_one_sync(
    sandbox: Sandbox, slugs: dict[str, str]
) -> None:
    """(D02)"""
    fill(sandbox, "one", "two", "three")
    sync_pages()
    before = tokens()
    rename(sandbox, **slugs)
    report = sync_pages()
    assert (report.added, report.changed, report.missing) == (0, len(slugs), 0)
    assert here() == there(sandbox)
    assert tokens() == before
    check_keys()
    assert sync_pages().changed == 0


def test_a_swap_over_more_pages_than_one_step_reads_is_followed_in_one_sync(
    sandbox: Sandbox,
) -> None:
    """(D02)"""
    fill(sandbox, *(f"page-{number}" for number in range(210)))
    sync_pages()
    before = tokens()
    rename(sandbox, **{"page-0": "page-209", "page-209": "page-0", "page-100": "new"})
    assert sync_pages().changed == 3
    assert (here(), tokens()) == (there(sandbox), before)
    check_keys()


def test_a_slug_that_was_freed_and_taken_leads_to_the_new_page(sandbox: Sandbox) -> None:
    """(D02) Each row keeps its token, and a payment is for the page it was paid on."""
    promo = sandbox.add_page(name="Sticker", slug="promo", amount=500)
    sync_pages()
    old = PaymentPage.objects.get()
    sandbox.set_page("promo", slug="sticker")
    masterclass = sandbox.add_page(name="Masterclass", slug="promo", amount=None)
    sync_pages()
    old.refresh_from_db()
    new = PaymentPage.objects.get(remote_id=masterclass["id"])
    assert (old.remote_id, old.slug, old.missing_since) == (promo["id"], "sticker", None)
    assert new.token != old.token
    reference = sandbox.pay("sticker")
    confirmation = confirm_payment(reference, door=Door.CALLBACK, page_token=old.token)
    assert confirmation.outcome is Outcome.DELIVERED
    assert Transaction.objects.get().page == old
    assert Good.objects.count() == 1


def test_a_page_made_anew_under_its_slug_is_another_page(sandbox: Sandbox) -> None:
    """(D02)"""
    first = sandbox.add_page(name="Tea", slug="tea", amount=500)
    sync_pages()
    sandbox.state.forget_page(first["id"])
    second = sandbox.add_page(name="Tea", slug="tea", amount=900)
    report = sync_pages()
    assert (report.added, report.missing) == (1, 1)
    old, new = PaymentPage.objects.order_by("remote_id")
    assert (old.remote_id, new.remote_id) == (first["id"], second["id"])
    assert (old.slug, old.slug_key, old.amount) == ("tea", None, 500)
    assert new.slug_key == slug_key("tea")
    assert old.token != new.token


def test_a_missing_page_that_comes_back_has_its_slug_again(sandbox: Sandbox) -> None:
    page = sandbox.add_page(name="Tea", slug="tea", amount=500)
    sync_pages()
    sandbox.state.forget_page(page["id"])
    sync_pages()
    sandbox.state.load([page], [])
    sync_pages()
    row = PaymentPage.objects.get()
    assert (row.missing_since, row.slug_key) == (None, slug_key("tea"))


def test_two_pages_with_one_slug_in_one_listing_stop_nothing(sandbox: Sandbox) -> None:
    """(D02) The service may be in the middle of a rename while we page through its list."""
    fill(sandbox, "one", "two", "three")
    sync_pages()
    before = tokens()
    listed = [
        {**page, "slug": "one"} if page["slug"] == "two" else page for page in sandbox.state.pages()
    ]
    sandbox.faults.add(
        operation="list", kind="status", status=200, body={"status": True, "data": listed}
    )
    sandbox.set_page("three", name="Three")
    for _time in range(2):
        assert sync_pages().seen == 3
        assert tokens() == before
        assert sorted(row.slug for row in PaymentPage.objects.all()) == ["one", "one", "three"]
    sandbox.faults.clear()
    sync_pages()
    assert here() == there(sandbox)
    check_keys()


def test_two_new_pages_with_one_slug_are_both_mirrored(sandbox: Sandbox) -> None:
    fill(sandbox, "one", "two")
    listed = [{**page, "slug": "one"} for page in sandbox.state.pages()]
    sandbox.faults.add(
        operation="list", kind="status", status=200, body={"status": True, "data": listed}
    )
    assert sync_pages().added == 2
    sandbox.faults.clear()
    sync_pages()
    assert here() == there(sandbox)
    check_keys()


def test_a_look_at_one_page_takes_its_slug_from_the_row_that_had_it(
    sandbox: Sandbox,
) -> None:
    """(D02) The page's form and its actions look, whatever the last sync knew."""
    fill(sandbox, "one", "two")
    sync_pages()
    before = tokens()
    rename(sandbox, one="two", two="one")
    for slug in ("one", "two"):
        refresh_page(PaymentPage.objects.get(name=slug))
    assert (here(), tokens()) == (there(sandbox), before)
    check_keys()
    rename(sandbox, one="one", two="two")
    set_active(PaymentPage.objects.get(name="one"), active=False)
    update_page(PaymentPage.objects.get(name="two"), amount=7)
    assert (here(), tokens()) == (there(sandbox), before)
    check_keys()


# One number in both modes


def test_a_live_page_has_a_row_of_its_own(sandbox: Sandbox, configure: Any) -> None:
    """(D03) The old test payments still say what was bought."""
    rehearsal = sandbox.add_page(name="Rehearsal ticket", slug="rehearsal", amount=500)
    sync_pages()
    old = PaymentPage.objects.get()
    confirm_payment(sandbox.pay("rehearsal"), door=Door.CALLBACK, page_token=old.token)
    go_live(sandbox, configure)
    opera = sandbox.add_page(name="Opera ticket", slug="opera", amount=9000)
    assert opera["id"] == rehearsal["id"]
    report = sync_pages()
    assert (report.added, report.changed, report.missing) == (1, 0, 0)
    old.refresh_from_db()
    assert (old.domain, old.name, old.slug, old.drift) == (
        "test",
        "Rehearsal ticket",
        "rehearsal",
        {},
    )
    assert old.missing_since is None
    new = PaymentPage.objects.get(domain="live")
    assert (new.remote_id, new.name, new.drift) == (opera["id"], "Opera ticket", {})
    assert new.token != old.token
    paid = Transaction.objects.get()
    assert paid.page is not None
    assert (paid.page, paid.page.name) == (old, "Rehearsal ticket")


def test_one_slug_in_both_modes_is_two_pages(sandbox: Sandbox, configure: Any) -> None:
    """(D03)"""
    sandbox.add_page(name="Tea", slug="tea", amount=500)
    sync_pages()
    go_live(sandbox, configure)
    sandbox.add_page(name="Tea", slug="tea", amount=500)
    sync_pages()
    assert sorted(PaymentPage.objects.values_list("domain", "slug")) == [
        ("live", "tea"),
        ("test", "tea"),
    ]
    check_keys()


def test_staff_make_a_page_under_a_number_that_the_other_mode_has(
    sandbox: Sandbox, configure: Any, admin_client: Client
) -> None:
    """(D03)"""
    sandbox.add_page(name="Rehearsal ticket", slug="rehearsal", amount=500)
    sync_pages()
    go_live(sandbox, configure)
    for _repeat in range(2):
        response = add(admin_client, name="Opera ticket", slug=f"opera-{_repeat}")
        assert response.status_code == 302, text(response)
    rows = PaymentPage.objects.order_by("domain", "remote_id")
    assert [(row.domain, row.remote_id) for row in rows] == [
        ("live", 18),
        ("live", 19),
        ("test", 18),
    ]


def test_a_row_has_its_mode_before_the_page_is_asked_for(sandbox: Sandbox, configure: Any) -> None:
    configure(DEADLINE=0.3)
    sandbox.faults.add(operation="create", kind="drop")
    sandbox.faults.add(operation="fetch", kind="status", status=500)
    with pytest.raises(PageError):
        create_page(name="Tea", amount=500, slug="tea")
    row = PaymentPage.objects.get()
    assert (row.remote_id, row.domain) == (None, "test")


def test_any_number_of_rows_wait_for_their_number() -> None:
    for number in range(3):
        PaymentPage.objects.create(
            name="x", slug=f"x-{number}", slug_key=f"{number}", domain="test"
        )
    PaymentPage.objects.create(name="x", remote_id=5, slug_key="5", domain="test")
    PaymentPage.objects.create(name="x", remote_id=5, slug_key="6", domain="live")
    with pytest.raises(IntegrityError):
        PaymentPage.objects.create(name="x", remote_id=5, slug_key="7", domain="test")


def test_metadata_names_a_page_of_our_mode(sandbox: Sandbox, configure: Any) -> None:
    """(D03) By number and by slug; a price alone fits pages of our mode alone."""
    sandbox.add_page(name="Rehearsal ticket", slug="ticket", amount=500)
    sync_pages()
    go_live(sandbox, configure)
    sandbox.add_page(name="Opera ticket", slug="ticket", amount=500)
    sync_pages()
    configure(ATTRIBUTION=("expected", "metadata", "callback", "amount"))
    live = PaymentPage.objects.get(domain="live")
    for named in ({"page_id": 18}, {"page_slug": "ticket"}, {}):
        reference = sandbox.pay("ticket", metadata=named or "")
        assert confirm_payment(reference, door=Door.WEBHOOK).outcome is Outcome.DELIVERED
        paid = Transaction.objects.get(reference=reference)
        assert paid.page == live
        assert paid.attributed_by == (Attributed.METADATA if named else Attributed.AMOUNT)


def test_prices_are_told_apart_in_each_mode_by_itself(
    sandbox: Sandbox, configure: Any, admin_client: Client
) -> None:
    sandbox.add_page(name="Rehearsal ticket", slug="ticket", amount=500)
    sync_pages()
    go_live(sandbox, configure)
    sandbox.add_page(name="Opera ticket", slug="ticket", amount=500)
    sync_pages()
    assert "same price" not in text(admin_client.get(LIST))
    live = PaymentPage.objects.get(domain="live")
    assert "same price" not in text(admin_client.get(change_url(live)))


# Rows whose creation was not confirmed, and slugs that are free again


def lost_answer(sandbox: Sandbox, configure: Any, **patch: Any) -> PaymentPage:
    """Let the service make a page without our hearing of it."""
    sandbox.faults.add(operation="create", kind="answer_lost", times=1)
    sandbox.faults.add(operation="fetch", kind="status", status=500, times=2)
    with pytest.raises(PageError):
        create_page(name="Tea", amount=500, slug="tea")
    if patch:
        sandbox.state.change_page(sandbox.state.pages()[0]["id"], patch)
    return PaymentPage.objects.get(remote_id=None)


@pytest.mark.parametrize(
    "slug", ["tea", "tea-2"], ids=["by its slug", "by our token in its address"]
)
def test_an_unconfirmed_row_is_bound_to_the_page_that_was_made(
    sandbox: Sandbox, configure: Any, slug: str
) -> None:
    row = lost_answer(sandbox, configure, slug=slug)
    report = sync_pages()
    assert (report.added, report.changed, report.unfinished) == (0, 1, ())
    bound = PaymentPage.objects.get()
    assert (bound.pk, bound.token, bound.slug) == (row.pk, row.token, slug)
    assert bound.remote_id == sandbox.state.pages()[0]["id"]


def test_an_unconfirmed_row_is_not_bound_to_a_page_that_has_a_row(
    sandbox: Sandbox, configure: Any
) -> None:
    """(D02) A mirrored page was renamed to the slug meanwhile."""
    old = sandbox.add_page(name="Old", slug="old", amount=100)
    sync_pages()
    configure(DEADLINE=0.3)
    sandbox.faults.add(operation="create", kind="drop", times=1)
    sandbox.faults.add(operation="fetch", kind="status", status=500, times=1)
    with pytest.raises(PageError):
        create_page(name="Tea", amount=500, slug="tea")
    configure(DEADLINE=8)
    sandbox.set_page("old", slug="tea")
    before = set(PaymentPage.objects.values_list("pk", "token"))
    with pytest.raises(PageError, match=r"number 18 .*“Old”"):
        create_page(name="Tea", amount=500, slug="tea")
    report = sync_pages()
    assert (report.changed, report.unfinished) == (1, ("tea",))
    assert PaymentPage.objects.get(remote_id=old["id"]).slug == "tea"
    assert set(PaymentPage.objects.values_list("pk", "token")) == before
    with pytest.raises(PageError, match="already have"):
        create_page(name="Tea", amount=500, slug="tea")


def test_a_page_that_the_service_lost_does_not_keep_its_slug(
    sandbox: Sandbox, admin_client: Client
) -> None:
    """(F9)"""
    first = create_page(name="Tea", amount=500, slug="tea")
    assert first.remote_id is not None
    sandbox.state.forget_page(first.remote_id)
    sync_pages()
    found = admin_client.get(f"{LIST}slug/", {"slug": "tea"}).json()
    assert found["state"] == "free"
    response = add(admin_client, name="New tea", slug="tea")
    assert response.status_code == 302, text(response)
    first.refresh_from_db()
    second = PaymentPage.objects.exclude(pk=first.pk).get()
    assert (first.slug_key, first.slug) == (None, "tea")
    assert (second.slug_key, second.remote_id) == (slug_key("tea"), first.remote_id + 1)
    assert second.token != first.token


@pytest.mark.parametrize("what", ["deleted", "renamed"])
def test_f09_a_slug_that_the_service_has_freed_is_free_without_a_sync(
    sandbox: Sandbox, admin_client: Client, what: str
) -> None:
    first = create_page(name="Tea", amount=500, slug="tea")
    confirm_payment(sandbox.pay("tea"), door=Door.CALLBACK, page_token=first.token)
    assert first.remote_id is not None
    if what == "deleted":
        sandbox.state.forget_page(first.remote_id)
    else:
        sandbox.set_page("tea", slug="tea-old")
    response = add(admin_client, name="New tea", slug="tea")
    assert response.status_code == 302, text(response)
    token = first.token
    first.refresh_from_db()
    second = PaymentPage.objects.exclude(pk=first.pk).get()
    assert (first.name, first.token, first.remote_id) == ("Tea", token, first.remote_id)
    assert (first.missing_since is not None) == (what == "deleted")
    assert second.slug_key == slug_key("tea")
    assert Transaction.objects.get().page == first, "its payments say what was bought"
    sync_pages()
    check_keys()


@pytest.mark.parametrize("operation", ["check_slug", "fetch"])
def test_f09_while_the_service_does_not_answer_the_slug_is_taken(
    sandbox: Sandbox, operation: str
) -> None:
    page = create_page(name="Tea", amount=500, slug="tea")
    assert page.remote_id is not None
    sandbox.state.forget_page(page.remote_id)
    sandbox.faults.add(operation=operation, kind="status", status=503)
    with pytest.raises(PageError, match="already have a page with this slug"):
        create_page(name="New tea", amount=500, slug="tea")
    assert PaymentPage.objects.get().missing_since is None


def test_f09_a_page_made_elsewhere_under_the_slug_of_a_lost_one_gets_it_by_a_sync(
    sandbox: Sandbox,
) -> None:
    first = create_page(name="Tea", amount=500, slug="tea")
    confirm_payment(sandbox.pay("tea"), door=Door.CALLBACK, page_token=first.token)
    assert first.remote_id is not None
    sandbox.state.forget_page(first.remote_id)
    made = sandbox.add_page(name="New tea", slug="tea", amount=700)
    sync_pages()
    check_keys()
    first.refresh_from_db()
    assert (first.name, first.slug_key) == ("Tea", None)
    assert PaymentPage.objects.get(remote_id=made["id"]).slug_key == slug_key("tea")
    assert Transaction.objects.get().page == first


def test_a_slug_of_a_lost_page_still_says_what_was_bought_until_it_is_taken(
    sandbox: Sandbox,
) -> None:
    page = create_page(name="Tea", amount=500, slug="tea")
    reference = sandbox.pay("tea", metadata={"slug": "tea"})
    assert page.remote_id is not None
    sandbox.state.forget_page(page.remote_id)
    sync_pages()
    confirm_payment(reference, door=Door.WEBHOOK)
    assert Transaction.objects.get().page == page


@pytest.mark.parametrize("slug", ["other", "tea"])
def test_an_answer_with_a_number_that_is_mirrored_is_an_error_of_the_form(
    sandbox: Sandbox, admin_client: Client, slug: str
) -> None:
    """(W2) As of a sandbox that was restarted and counts from 18 again."""
    create_page(name="Rehearsal ticket", amount=500, slug="rehearsal")
    sandbox.reset()
    response = add(admin_client, name="Tea", slug="tea")
    assert response.status_code == 200
    assert "number 18" in text(response)
    assert "Rehearsal ticket" in text(response)
    assert PaymentPage.objects.count() == 1
    response = add(admin_client, name="Tea", slug=slug)
    if slug == "tea":
        assert "slug is taken" in text(response)
    else:
        assert response.status_code == 302, "19 is nobody's"
    sync_pages()
    assert here() == there(sandbox)


def test_an_answer_with_a_slug_that_is_mirrored_is_an_error_of_the_form(
    sandbox: Sandbox, admin_client: Client
) -> None:
    """(W2) The page keeps the callback that was sent along: a sync mirrors it with its token."""
    create_page(name="Rehearsal ticket", amount=500, slug="rehearsal")
    sandbox.faults.add(operation="create", kind="patch", data={"slug": "rehearsal"}, times=1)
    response = add(admin_client, name="Tea", slug="tea")
    assert response.status_code == 200
    assert "/rehearsal" in text(response)
    assert PaymentPage.objects.count() == 1
    sync_pages()
    assert here() == there(sandbox)
    made = PaymentPage.objects.get(slug="tea")
    assert str(made.token) in made.redirect_url


def test_what_staff_typed_for_a_draft_is_kept_when_its_creation_is_refused(
    sandbox: Sandbox, configure: Any, admin_client: Client
) -> None:
    """The row is gone then, and its form is shown all the same."""
    configure(DEADLINE=0.3)
    sandbox.faults.add(operation="create", kind="drop", times=1)
    sandbox.faults.add(operation="fetch", kind="status", status=500, times=1)
    add(admin_client)
    configure(DEADLINE=8)
    draft = PaymentPage.objects.get()
    sandbox.faults.add(operation="create", kind="status", status=400, times=1)
    response = admin_client.post(
        change_url(draft), {"name": "Tea chest", "amount": "5", "opened": "", "active": "on"}
    )
    assert response.status_code == 200
    assert "Tea chest" in text(response)


def test_drift_is_of_one_page_alone(sandbox: Sandbox) -> None:
    """(D03) Ours is never sent to a page that only has the number or the slug of another."""
    fill(sandbox, "one", "two")
    sync_pages()
    rename(sandbox, one="two", two="one")
    sync_pages()
    assert all(page.drift == {} for page in PaymentPage.objects.all())
    keep_remote(PaymentPage.objects.all()[0])


@pytest.mark.skipif(connection.vendor == "sqlite", reason="it lets one writer in at a time")
@pytest.mark.parametrize("statement", ["INSERT INTO payments_pages_paymentpage", "UPDATE"])
def test_two_syncs_at_once_mirror_each_page_once(sandbox: Sandbox, statement: str) -> None:
    """The other one writes all rows between our look and our first write."""
    fill(sandbox, "one", "two")
    if statement == "UPDATE":
        sync_pages()
        rename(sandbox, one="two", two="one")
    with meanwhile(statement, sync_pages):
        sync_pages()
    assert (here(), PaymentPage.objects.count()) == (there(sandbox), 2)
    check_keys()


@pytest.mark.skipif(connection.vendor == "sqlite", reason="it lets one writer in at a time")
def test_a_row_that_was_bound_meanwhile_is_bound_to_no_second_number(sandbox: Sandbox) -> None:
    """(D02)"""
    row = PaymentPage.objects.create(
        name="Tea", slug="tea", slug_key=slug_key("tea"), domain="test"
    )
    sandbox.add_page(name="Tea", slug="tea", amount=5)

    def bind() -> None:
        PaymentPage.objects.filter(pk=row.pk).update(remote_id=700, slug="x", slug_key="x")

    with meanwhile("UPDATE payments_pages_paymentpage SET domain", bind):
        sync_pages()
    row.refresh_from_db()
    assert row.remote_id == 700
    assert PaymentPage.objects.get(remote_id=18).token != row.token
