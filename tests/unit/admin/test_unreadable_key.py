"""Work in the admin while the key's vault is away and no MODE says which mode this site is in.

Check W007 warns of such settings. Until somebody heeds it, staff must still see their payments:
every address and every action of the admin is tried, those that tests/unit/admin/test_permissions.py
lists.
"""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from payments_pages.admin.errors import explain
from payments_pages.admin.pages.formats import is_of_other_mode
from payments_pages.choices import Reason
from payments_pages.exceptions import UnusableKey
from payments_pages.models import Fulfilment, PaymentPage, Verification
from tests.unit.admin.test_permissions import (
    ADMIN,
    LISTS,
    PAGE,
    PAYMENT,
    URLS,
    Stage,
    people,
    set_up,
    sign_in,
)

__all__ = ["people", "set_up"]

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SECRET = "the vault's own words"


def vault() -> str:
    raise RuntimeError(SECRET)


@pytest.fixture
def shut(settings: Any) -> Callable[[], None]:
    """Lose the vault; what was made before had a key."""

    def lose() -> None:
        given = dict(settings.PAYMENTS_PAGES)
        given.pop("MODE", None)
        settings.PAYMENTS_PAGES = {**given, "SECRET_KEY": vault}

    return lose


@pytest.mark.parametrize("name", URLS)
def test_no_address_fails(
    name: str,
    people: dict[str, User | None],
    set_up: Callable[[], Stage],
    shut: Callable[[], None],
    settings: Any,
) -> None:
    whole = settings.PAYMENTS_PAGES
    for entry in URLS[name]:
        settings.PAYMENTS_PAGES = whole
        stage = set_up()
        entry.before(stage)
        shut()
        response = entry.do(sign_in(people["superuser"]), stage)
        assert response.status_code < 500
        assert SECRET.encode() not in unpacked(b"".join(response))


def unpacked(content: bytes) -> bytes:
    """Return what a workbook's files say, and any other content as it is."""
    file = io.BytesIO(content)
    if not zipfile.is_zipfile(file):
        return content
    with zipfile.ZipFile(file) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize(("model", "action"), LISTS)
def test_no_action_of_a_list_fails(
    model: str,
    action: str,
    people: dict[str, User | None],
    set_up: Callable[[], Stage],
    shut: Callable[[], None],
) -> None:
    stage = set_up()
    choice = LISTS[model, action]
    choice.before(stage)
    shut()
    chosen = {PAYMENT: stage.row.transaction_id, PAGE: stage.page.pk}
    response = sign_in(people["superuser"]).post(
        f"{ADMIN}{model}/",
        {
            "action": action,
            "_selected_action": [chosen.get(model) or Verification.objects.get().pk],
            **dict(choice.data),
        },
        follow=True,
    )
    assert response.status_code < 500
    assert SECRET.encode() not in unpacked(b"".join(response))


def test_what_needs_the_mode_is_refused_with_the_reason(
    people: dict[str, User | None], set_up: Callable[[], Stage], shut: Callable[[], None]
) -> None:
    stage = set_up()
    shut()
    words = explain(UnusableKey("x"))
    client = sign_in(people["superuser"])
    LISTS[PAGE, "deactivate_pages"].before(stage)
    data = dict(LISTS[PAGE, "deactivate_pages"].data)
    response = client.post(
        f"{ADMIN}{PAGE}/",
        {"action": "deactivate_pages", "_selected_action": [stage.page.pk], **data},
        follow=True,
    )
    assert "key" in words
    assert PaymentPage.objects.get(pk=stage.page.pk).active
    assert words in response.content.decode()


def test_a_page_is_not_said_to_be_of_the_other_mode_when_nobody_can_tell(
    set_up: Callable[[], Stage], shut: Callable[[], None], settings: Any
) -> None:
    page = set_up().page
    assert page.domain == "test"
    assert not is_of_other_mode(page)
    settings.PAYMENTS_PAGES = {**settings.PAYMENTS_PAGES, "MODE": "live"}
    assert is_of_other_mode(page)
    shut()
    assert not is_of_other_mode(page)


def test_a_payment_of_the_other_mode_is_explained_without_ours(
    people: dict[str, User | None], set_up: Callable[[], Stage], shut: Callable[[], None]
) -> None:
    stage = set_up()
    Fulfilment.objects.update(reason=Reason.MODE_MISMATCH)
    shut()
    response = sign_in(people["superuser"]).get(
        f"{ADMIN}{PAYMENT}/{stage.row.transaction_id}/change/"
    )
    assert response.status_code == 200
    assert "this site takes – payments only" in response.content.decode()
