"""A database that is busy or away for a moment is 503 at every door, never 500."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.db import InterfaceError, ProgrammingError, connection
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

NOT_YET = {Outcome.UNAVAILABLE, Outcome.DELIVERING, Outcome.DELIVERY_FAILED}


@contextmanager
def away(error: Exception, *, after: int = 0) -> Iterator[None]:
    """Let every statement after the first few fail."""
    seen = 0

    def fail(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen > after:
            raise error
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        yield


def closed() -> Exception:
    return InterfaceError("connection already closed")


@pytest.mark.parametrize("name", ["result", "result-status"])
def test_what_only_reads_answers_503(client: Client, name: str) -> None:
    address = reverse(f"payments_pages:{name}", args=[uuid4()])
    with away(closed()):
        response = client.get(address)
    assert response.status_code == 503
    assert response.headers["Cache-Control"] == "no-store, private"
    assert client.get(address).status_code == 404, "the control"


def test_a_person_is_shown_a_page(client: Client) -> None:
    address = reverse("payments_pages:result", args=[uuid4()])
    with away(closed()):
        response = client.get(address)
    assert response.status_code == 503
    assert response.headers["Content-Type"].startswith("text/html")
    assert f'href="{address}"' in response.content.decode(), "it leads here again"


def test_a_program_is_told_when_to_come_again(client: Client) -> None:
    address = reverse("payments_pages:result-status", args=[uuid4()])
    with away(closed()):
        response = client.get(address)
    assert response.json() == {"outcome": "unavailable"}
    assert int(response.headers["Retry-After"]) > 0


def test_a_fault_of_ours_is_not_hidden(client: Client) -> None:
    address = reverse("payments_pages:result", args=[uuid4()])
    with away(ProgrammingError("no such column")), pytest.raises(ProgrammingError):
        client.get(address)


@pytest.mark.slow
def test_a_line_cut_anywhere_on_the_path_is_unavailable_or_less_and_loses_nothing(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """After the first statement, after the second, … until the path comes through."""
    references = []
    for after in range(40):
        references.append(sandbox.pay("tea-box"))
        with away(closed(), after=after):
            found = confirm_payment(references[-1], door=Door.CALLBACK, page_token=tea_box.token)
        if found.outcome is Outcome.DELIVERED:
            break
        assert found.outcome in NOT_YET
    assert 8 <= after < 39
    for _round in range(2):
        let_time_pass(7200)
        assert sweep_due().errors == 0
    for reference in references:
        # Cut before the first write, nobody knows of it: the payer's reload is the remedy.
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    given = sorted(Good.objects.values_list("reference", flat=True))
    assert given == sorted(references)
