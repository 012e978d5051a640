"""A database that cannot store a page's letters: staff read it, and nothing breaks."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import add, change_url, made, open_form, sent, text

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "شاي بالنعناع"
SAID = "The database cannot store these letters"


class Refused(Exception):
    """An error of the driver; MariaDB's number comes first."""


@pytest.fixture
def narrow() -> Iterator[None]:
    """A table of pages in latin1; other databases refuse the statement as MariaDB does."""
    if connection.vendor == "mysql":
        table = "ALTER TABLE payments_pages_paymentpage CONVERT TO CHARACTER SET"
        with connection.cursor() as cursor:
            cursor.execute(f"{table} latin1")
        yield
        PaymentPage.objects.all().delete()
        with connection.cursor() as cursor:
            cursor.execute(f"{table} utf8mb4")
        return

    def refuse(execute: Any, sql: str, params: Any, *more: Any) -> Any:
        writes = sql.startswith(("INSERT", "UPDATE")) and "payments_pages_paymentpage" in sql
        # Among them may be arrays: Django inserts many rows at once so on PostgreSQL.
        if writes and not all(str(value).isascii() for value in params or ()):
            raise OperationalError(1366, "Incorrect string value") from Refused(1366)
        return execute(sql, params, *more)

    with connection.execute_wrapper(refuse):
        yield


@pytest.mark.usefixtures("narrow")
def test_a_new_page_is_refused_in_words_and_nothing_is_sent(
    staff: Client, sandbox: Sandbox
) -> None:
    response = add(staff, name=NAME)
    assert response.status_code == 200
    assert SAID in text(response)
    assert NAME in text(response), "what was typed stays"
    assert sent(sandbox, "POST") == []
    assert not PaymentPage.objects.exists()


@pytest.mark.usefixtures("narrow")
def test_a_change_is_answered_in_words(staff: Client, sandbox: Sandbox) -> None:
    page = made(staff)
    response = staff.post(change_url(page), {**open_form(staff, page), "name": NAME})
    assert response.status_code == 200
    assert SAID in text(response)


@pytest.mark.usefixtures("narrow")
def test_a_sync_leaves_the_page_out_and_says_so(staff: Client, sandbox: Sandbox) -> None:
    sandbox.add_page(name=NAME, slug="tea", amount=100)
    sandbox.add_page(name="Mug", slug="mug", amount=100)
    response = staff.post("/admin/payments_pages/paymentpage/sync/", follow=True)
    assert response.status_code == 200
    assert "left out" in text(response).lower()
    assert [page.slug for page in PaymentPage.objects.all()] == ["mug"]
