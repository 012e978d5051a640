"""A database is dumped and restored by the lines of docs/restored-backup.md; nothing is given twice."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import ExpectedPayment, Fulfilment, PaymentPage
from payments_pages.pages import create_page, sync_pages
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from tests.integration.copies.databases import Databases, lines_of
from tests.support.goods.models import Good

PAGE = "restored-backup.md"


def given() -> Counter[str]:
    """How often each payment's value was given, as the restored database has it."""
    return Counter(Good.objects.values_list("reference", flat=True))


def keys() -> dict[str, str]:
    rows = Fulfilment.objects.filter(state=FulfilmentState.DELIVERED)
    return {row.transaction.reference: str(row.idempotency_key) for row in rows}


def buy(
    sandbox: Sandbox,
    slug: str,
    reference: str,
    outcome: Outcome = Outcome.DELIVERED,
    **fields: Any,
) -> str:
    """Be a payer who pays on a page and comes back by its callback."""
    page = PaymentPage.objects.get(slug=slug)
    sandbox.pay(slug, reference=reference, **fields)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
    assert found.outcome is outcome
    return reference


def test_what_was_lost_is_delivered_once_and_what_was_not_lost_is_not_delivered_again(
    databases: Databases, sandbox: Sandbox, site_url: str, tmp_path: Path
) -> None:
    shop = databases.create("shop")
    databases.create_tables(shop)
    with databases.serving(shop):
        create_page(name="Tea box", slug="tea-box", amount=10000)
        before = [buy(sandbox, "tea-box", f"BEFORE-{number}") for number in range(3)]
        buy(sandbox, "tea-box", "OLD", paid_at="2026-01-05T10:00:00.000Z")
        held = buy(sandbox, "tea-box", "HELD", Outcome.HELD, amount=1)
        late = buy(sandbox, "tea-box", "LATE", Outcome.PENDING, status="pending")
        sweep_due()
        first_keys = keys()
    databases.run_all(["python manage.py payments_pages_totals"], shop)
    databases.run_all(lines_of(PAGE, f"commands: dump on {databases.word}"), shop)

    with databases.serving(shop):
        create_page(name="Mint", slug="mint", amount=500)
        buy(sandbox, "mint", "TOLD", metadata={"page_slug": "mint"})
        buy(sandbox, "tea-box", "SILENT")
        buy(sandbox, "tea-box", "SILENT-OLD", paid_at="2026-01-06T10:00:00.000Z")
        sandbox.set_transaction(late, status="success")
        decisions.approve(Fulfilment.objects.get(state="held").transaction, actor="Rana", note="ok")
        order = ExpectedPayment.objects.expect(amount=700, currency="ILS").reference
        sandbox.add_transaction(order, amount=700, currency="ILS", status="success")
        assert confirm_payment(order, door=Door.CALLBACK).outcome is Outcome.DELIVERED
        lost_keys = keys()
    databases.run_all(lines_of(PAGE, f"commands: restore on {databases.word}"), shop)

    with databases.serving(shop):
        assert given() == dict.fromkeys((*before, "OLD"), 1), "the restored rows are those of then"
        assert keys() == first_keys
        assert [page.slug for page in PaymentPage.objects.all()] == ["tea-box"]
        # A payer who comes back meanwhile is served, and is in the file as well.
        assert confirm_payment("BEFORE-0", door=Door.CALLBACK).outcome is Outcome.ALREADY_DELIVERED
    _export(sandbox, tmp_path / "payments.csv")
    _export(sandbox, tmp_path / "tea-box.csv", only=("BEFORE-0", "SILENT", "SILENT-OLD"))
    sync, everything, of_page, sweep = lines_of(PAGE, "commands")
    databases.run_all([sync], shop)
    code, said = databases.run(everything, shop)
    assert (code, said.count(": delivered before")) == (1, 4), said
    assert "Left out of the file: 1 abandoned." in said
    code, said = databases.run(of_page, shop)
    assert (code, "3 of 3 delivered" in said) == (0, True), said
    databases.run_all([sweep], shop)
    for again in (everything, of_page):
        assert ": delivered now" not in databases.run(again, shop)[1]

    back = {*before, "OLD", "LATE", "TOLD", "SILENT", "SILENT-OLD"}
    with databases.serving(shop):
        assert given() == dict.fromkeys(back, 1)
        now = keys()
        assert {name: now[name] for name in lost_keys if name in back} == {
            name: key for name, key in lost_keys.items() if name in back
        }
        rows = Fulfilment.objects.filter(state=FulfilmentState.HELD)
        assert {row.transaction.reference: row.reason for row in rows} == {
            held: Reason.AMOUNT_MISMATCH,
            order: Reason.UNATTRIBUTED,
        }
        # New rows find free numbers in every table that a payment is written to.
        create_page(name="Sage", slug="sage", amount=900)
        buy(sandbox, "sage", "AFTER")
        ExpectedPayment.objects.expect(amount=700, currency="ILS")
        sync_pages()
        assert given() == dict.fromkeys((*back, "AFTER"), 1)
    said = databases.run_all(["python manage.py payments_pages_totals --compare"], shop)
    assert re.search(r"Compared [1-9]\d* days, of both modes: no difference", said), said


def _export(sandbox: Sandbox, path: Path, only: tuple[str, ...] = ()) -> None:
    """Write a file such as the service exports; one payer has left his payment."""
    rows = [stored.data for stored in sandbox.state.transactions()]
    lines = [
        f"{number};{row['reference']};{row['status']};{row['amount'] / 100:.2f};ILS\r\n"
        for number, row in enumerate(rows, 1)
        if not only or row["reference"] in only
    ]
    heading = "\ufeffID;Reference;Status;Amount;Currency\r\n"
    more = "" if only else "99;LEFT;abandoned;5.00;ILS\r\n"
    path.write_text(heading + "".join(lines) + more, encoding="utf-8")
