"""A site moves to another database by the lines of docs/moving.md: what was given stays given."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.pages import create_page
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.integration.copies.databases import Databases, lines_of
from tests.support.goods.models import Good

MODELS = (PaymentPage, ExpectedPayment, Verification, Transaction, Fulfilment, Event)


def test_what_was_given_stays_given_and_what_is_due_stays_due(
    databases: Databases, sandbox: Sandbox, site_url: str
) -> None:
    """From SQLite, to the server that DATABASE_URL names or, without it, to another file."""
    old = databases.create("old", kind="sqlite")
    databases.create_tables(old)
    with databases.serving(old):
        group = Group.objects.create(name="Till")
        permission = Permission.objects.get(codename="approve_fulfilment")
        number = permission.pk
        permission.delete()
        permission.pk = None
        permission.save(force_insert=True)
        assert permission.pk != number, "as on an old site: the new database has another number"
        group.permissions.add(permission)
        rana = get_user_model().objects.create_user("rana")
        rana.groups.add(group)
        page = create_page(name='Tea "box" شاي 🍵', slug="tea-box", amount=10000)
        sandbox.pay("tea-box", reference="GIVEN", first_name="نور")
        found = confirm_payment("GIVEN", door=Door.CALLBACK, page_token=page.token)
        assert found.outcome is Outcome.DELIVERED
        sandbox.pay("tea-box", reference="DUE", status="pending")
        confirm_payment("DUE", door=Door.CALLBACK, page_token=page.token)
        order = ExpectedPayment.objects.expect(amount=700, currency="ILS", page=page).reference
        sandbox.add_transaction(order, amount=700, currency="ILS", status="success")
        sweep_due()
        before = _rows()
        key = Fulfilment.objects.get().idempotency_key
    sandbox.set_transaction("DUE", status="success")

    databases.run_all(lines_of("moving.md", "commands: in the old database"), old)
    new = databases.create("new")
    databases.run_all(lines_of("moving.md", "commands: in the new database"), new)

    calls = sandbox.verify_calls()
    with databases.serving(new):
        after = _rows()
        for model in MODELS:
            assert after[model] == before[model], model
        assert Fulfilment.objects.get().idempotency_key == key
        moved = get_user_model().objects.get(username="rana")
        assert moved.has_perm("payments_pages.approve_fulfilment")
        found = confirm_payment("GIVEN", door=Door.CALLBACK, page_token=page.token)
        assert found.outcome is Outcome.ALREADY_DELIVERED
        assert sandbox.verify_calls() == calls, "a settled answer needs no call"
        let_time_pass(86400)
    sweep = "python manage.py payments_pages_sweep"
    databases.run_all([sweep, "python manage.py payments_pages_totals --compare"], new)
    with databases.serving(new):
        given = sorted(Good.objects.values_list("reference", flat=True))
        assert given == sorted(["GIVEN", "DUE", order])
        # New rows find free numbers, in the site's own tables too.
        fresh = create_page(name="Sage", slug="sage", amount=900)
        sandbox.pay("sage", reference="AFTER")
        found = confirm_payment("AFTER", door=Door.CALLBACK, page_token=fresh.token)
        assert found.outcome is Outcome.DELIVERED
        ExpectedPayment.objects.expect(amount=700, currency="ILS")
        get_user_model().objects.create_user("sami")
        assert Good.objects.count() == 4


def _rows() -> dict[type[Any], list[dict[str, Any]]]:
    """All columns of all rows; times as far as JSON keeps them, which is to the millisecond."""
    return {
        model: [
            {name: _shown(value) for name, value in row.items()}
            for row in model.objects.order_by("pk").values()
        ]
        for model in MODELS
    }


def _shown(value: Any) -> Any:
    if hasattr(value, "microsecond"):
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value
