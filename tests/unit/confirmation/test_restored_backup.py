"""The commands of docs/restored-backup.md bring back what a restored database has lost (S3)."""

import io
import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.pages import sync_pages
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.external import CALLS

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = (
    Path(__file__).resolve().parent.parent.parent.parent / "docs" / "restored-backup.md"
).read_text()
HEADING = "\ufeffID;Reference;Status;Amount;Currency\r\n"


def commands() -> list[list[str]]:
    (block,) = re.findall(r"<!-- commands -->\n```console\n(.*?)```", PAGE, re.DOTALL)
    prefix = "$ python manage.py "
    assert all(line.startswith(prefix) for line in block.splitlines())
    return [shlex.split(line.removeprefix(prefix)) for line in block.splitlines()]


def run(words: list[str]) -> str:
    out = io.StringIO()
    with suppress(CommandError):  # not all are delivered
        call_command(*words, stdout=out)
    return out.getvalue()


def restore(backup: dict[Any, set[int]]) -> None:
    """Take away what was written since the backup, as restoring it does."""
    for model, kept in backup.items():
        model._base_manager.exclude(pk__in=kept)._raw_delete("default")


def test_each_payment_that_was_lost_is_delivered_once_under_its_own_key(
    sandbox: Sandbox,
    tea_box: PaymentPage,
    configure: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(HANDLER="tests.support.goods.external.call", HANDLER_ATOMIC=False)
    CALLS.clear()
    keys: dict[str, UUID] = {}

    def buy(reference: str, page: PaymentPage, **fields: Any) -> str:
        sandbox.pay(page.slug, reference=reference, **fields)
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
        assert found.outcome is Outcome.DELIVERED
        keys[reference] = Fulfilment.objects.latest("pk").idempotency_key
        return reference

    before = buy("BEFORE", tea_box)
    rows = (Event, Fulfilment, Transaction, Verification, PaymentPage)
    backup = {model: set(model._base_manager.values_list("pk", flat=True)) for model in rows}
    sandbox.add_page(name="Mint", slug="mint", amount=500)
    sync_pages()
    mint = PaymentPage.objects.get(slug="mint")
    told = buy("TOLD", mint, amount=500, metadata={"page_slug": "mint"})
    pageless = [buy("SILENT-1", tea_box), buy("SILENT-2", tea_box, amount=10001)]
    assert [call.key for call in CALLS] == list(keys.values())
    restore(backup)
    let_time_pass(60)

    monkeypatch.chdir(tmp_path)
    lines = "".join(f"1;{name};success;100;ILS\r\n" for name in (before, told, *pageless))
    other = "2;GONE;abandoned;100;ILS\r\n"
    Path("payments.csv").write_text(HEADING + lines + other, encoding="utf-8")
    lines = "".join(f'"1";"{name}";"success"\n' for name in pageless)
    Path("tea-box.csv").write_text(f'"ID";"Reference";"Status"\n{lines}', encoding="utf-8")
    sync, everything, of_page, sweep = commands()
    run(sync)
    assert run(everything).endswith(
        "2 of 4 delivered:\n  1 delivered before\n  1 delivered now\n  2 paid; held for staff\n"
        "Left out of the file: 1 abandoned.\n"
    )
    held = Fulfilment.objects.filter(state=FulfilmentState.HELD)
    assert {row.reason for row in held} == {Reason.UNATTRIBUTED}
    assert "2 of 2 delivered" in run(of_page)
    run(sweep)
    for again in (everything, of_page):
        assert "delivered before" in run(again)

    delivered = Fulfilment.objects.filter(state=FulfilmentState.DELIVERED)
    assert {row.transaction.reference: row.idempotency_key for row in delivered} == keys
    assert {key: [call.key for call in CALLS].count(key) for key in keys.values()} == {
        keys[before]: 1,
        **{keys[name]: 2 for name in (told, *pageless)},
    }, "once before the backup was restored and once after it, under the same key"
