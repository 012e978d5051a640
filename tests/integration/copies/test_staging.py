"""A copy of production for staging gives nothing before it is moved, and then nothing of live mode (S11)."""

from collections.abc import Iterator
from typing import Any

import pytest

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Fulfilment, PaymentPage, SiteBinding, Verification
from payments_pages.pages import create_page
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.integration.copies.databases import Databases, lines_of
from tests.support.goods.models import Good

MOVE = "python manage.py payments_pages_move --yes"
SWEEP = "python manage.py payments_pages_sweep"


@pytest.fixture
def live() -> Iterator[Sandbox]:
    """The service, for those who have the live key."""
    with Sandbox(secret_key="sk_live_suite", currency="ILS") as server:
        yield server


def be_live(configure: Any, live: Sandbox, **keys: Any) -> None:
    configure(SECRET_KEY=live.secret_key, BASE_URL=live.base_url, PAY_URL=live.pay_url, **keys)


def test_s11_a_copy_gives_nothing_until_it_is_moved_and_then_nothing_of_live_mode(
    databases: Databases, sandbox: Sandbox, live: Sandbox, site_url: str, configure: Any
) -> None:
    word = databases.word
    shop, staging = databases.create("shop"), databases.create("staging")
    databases.create_tables(shop)
    be_live(configure, live)
    with databases.serving(shop):
        page = create_page(name="Tea box", slug="tea-box", amount=10000)
        live.pay("tea-box", reference="GIVEN")
        found = confirm_payment("GIVEN", door=Door.CALLBACK, page_token=page.token)
        assert found.outcome is Outcome.DELIVERED
        live.pay("tea-box", reference="DUE", status="pending")
        confirm_payment("DUE", door=Door.CALLBACK, page_token=page.token)
        configure(HANDLER="tests.support.goods.handlers.fail_always")
        live.pay("tea-box", reference="FAILED")
        found = confirm_payment("FAILED", door=Door.CALLBACK, page_token=page.token)
        assert found.outcome is Outcome.DELIVERY_FAILED
        configure(HANDLER="tests.support.goods.handlers.give")
        sweep_due()
        live.set_transaction("DUE", status="success")
    databases.run_all(lines_of("restored-backup.md", f"commands: dump on {word}"), shop)
    databases.run_all(lines_of("restored-backup.md", f"commands: restore on {word}"), staging)

    # The worst copy: it still has the live key.
    configure(SITE_URL="https://staging.teahouse.ps")
    calls = live.verify_calls()
    with databases.serving(staging):
        let_time_pass(86400)
        for reference in ("GIVEN", "DUE", "FAILED", "NEW"):
            found = confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
            assert found.outcome is Outcome.UNAVAILABLE
    code, said = databases.run(SWEEP, staging)
    assert code != 0
    assert "belong to https://shop.teahouse.ps, and SITE_URL is https://staging.teahouse.ps" in said
    with databases.serving(staging):
        assert list(Good.objects.values_list("reference", flat=True)) == ["GIVEN"]
        assert not Verification.objects.filter(reference="NEW").exists()
        before = _rows()
    assert live.verify_calls() == calls

    configure(SECRET_KEY=sandbox.secret_key, BASE_URL=sandbox.base_url, PAY_URL=sandbox.pay_url)
    said = databases.run_all([MOVE], staging)
    assert "Bound to: https://shop.teahouse.ps since" in said
    databases.run_all([SWEEP], staging)
    with databases.serving(staging):
        assert SiteBinding.objects.get().url == "https://staging.teahouse.ps"
        assert _rows() == before, "what is due in live mode waits, untouched"
        # The copy works: a page and a payment of test mode.
        new = create_page(name="Trial", slug="trial", amount=500)
        sandbox.pay("trial", reference="TRIAL")
        found = confirm_payment("TRIAL", door=Door.CALLBACK, page_token=new.token)
        assert found.outcome is Outcome.DELIVERED
        assert sorted(Good.objects.values_list("reference", flat=True)) == ["GIVEN", "TRIAL"]
        assert PaymentPage.objects.count() == 2
    assert live.verify_calls() == calls
    assert [sandbox.verify_calls(name) for name in ("GIVEN", "DUE", "FAILED")] == [0, 0, 0]

    # Production never noticed.
    be_live(configure, live, SITE_URL=site_url)
    with databases.serving(shop):
        let_time_pass(86400)
    databases.run_all([SWEEP], shop)
    with databases.serving(shop):
        given = sorted(Good.objects.values_list("reference", flat=True))
        assert given == ["DUE", "FAILED", "GIVEN"]


def _rows() -> tuple[list[Any], list[Any]]:
    """What is open, and how often each was tried."""
    asks = Verification.objects.order_by("pk").values_list("reference", "state", "attempts")
    deliveries = Fulfilment.objects.order_by("pk").values_list("reference_key", "state", "attempts")
    return list(asks), list(deliveries)
