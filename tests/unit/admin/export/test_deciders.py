"""Who decided about a held payment, when and why, is exported."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction
from payments_pages.staff import reject, reopen
from tests.unit.admin.export.downloads import (
    written,
)
from tests.unit.admin.payments import many, paid

pytestmark = pytest.mark.django_db


def held(page: PaymentPage | None = None, **fields: Any) -> Transaction:
    row = paid(page=page)
    values = {"state": "held", "reason": "amount_mismatch", **fields}
    Fulfilment.objects.create(transaction=row, reference_key=row.reference_key, **values)
    return Transaction.objects.select_related("fulfilment").get(pk=row.pk)


def test_it_says_who_decided_what_when_and_why() -> None:
    row = held()
    assert [value for name, value in written()[0].items() if name.startswith("deci")] == [""] * 4
    before = timezone.now().replace(microsecond=0)
    assert reject(row, actor="nadia", note="=paid twice")
    (line,) = written()
    assert (line["decision"], line["decided_by"]) == ("rejected", "nadia")
    assert line["decision_note"] == "'=paid twice"
    assert before <= dt.datetime.fromisoformat(line["decided_at"]) <= timezone.now()
    row = Transaction.objects.select_related("fulfilment").get(pk=row.pk)
    assert reopen(row, actor="omar", note="by mistake")
    (line,) = written()
    assert (line["decision"], line["decided_by"]) == ("reopened", "omar")


def test_who_decided_is_still_said_when_the_timeline_has_been_purged() -> None:
    row = held()
    assert reject(row, actor="nadia", note="paid twice")
    Event.objects.all().delete()
    (line,) = written()
    decided = (line["decision"], line["decided_by"], line["decided_at"], line["decision_note"])
    assert decided == ("rejected", "nadia", "", "paid twice")


def test_decisions_cost_one_query_a_chunk_and_none_where_nobody_decided() -> None:
    many(3)
    for _number in range(3):
        reject(held(), actor="nadia")
    with CaptureQueriesContext(connection) as queries:
        assert [line["decided_by"] for line in written()] == ["nadia"] * 3 + [""] * 3
    assert len(queries) == 2
    Fulfilment.objects.all()._raw_delete("default")  # type: ignore[attr-defined]
    with CaptureQueriesContext(connection) as queries:
        written()
    assert len(queries) == 1
