"""Who may sign in to the demo's admin, and what each sees there."""

from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.test import Client

from example_project.demo.logins import BUYER_EMAIL, reset_login, reset_logins
from payments_pages.sandbox.checkout import EMAIL
from payments_pages.staff.roles import ROLES
from tests.acceptance.example.conftest import Shop


def test_there_is_a_login_for_each_role_one_for_everything_and_one_buyer(db: None) -> None:
    logins = reset_logins()
    names = [name for name, _password, _who in logins]
    assert names == ["admin", *(role.name for role in ROLES), "payer"]
    for name, password, _who in logins:
        user = authenticate(username=name, password=password)
        assert user is not None
        assert user.is_superuser is (name == "admin")
        assert user.is_staff is (name != "payer")


def test_a_file_keeps_the_passwords_and_nobody_else_reads_it(db: None, tmp_path: Path) -> None:
    file = tmp_path / "new" / "logins.json"
    before = reset_logins(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert reset_logins(file) == before
    file.write_text("spoilt {")
    after = reset_logins(file)
    assert [name for name, _password, _who in after] == [name for name, *_more in before]
    assert not {password for _name, password, _who in after} & {word for _n, word, _w in before}
    assert reset_logins(file) == after


def test_the_buyer_finds_what_the_sandboxs_page_was_paid_with(shop: Shop, client: Client) -> None:
    assert EMAIL == BUYER_EMAIL
    reference = shop.buy(shop.page(), EMAIL)
    passwords = {login: password for login, password, _who in reset_logins()}
    assert client.login(username="payer", password=passwords["payer"])
    assert reference in client.get("/purchases/").content.decode()
    assert client.get("/admin/payments_pages/transaction/").status_code == 302


def test_a_login_that_lost_its_rights_gets_them_back(db: None) -> None:
    reset_logins()
    name, password = reset_login("manager", group="Payments: viewer")
    user = authenticate(username=name, password=password)
    assert user is not None
    assert not user.has_perm("payments_pages.approve_fulfilment")
    reset_logins()
    again = type(user).objects.get(pk=user.pk)
    assert again.has_perm("payments_pages.approve_fulfilment")


@pytest.mark.parametrize("name", ["admin", *(role.name for role in ROLES)])
def test_each_login_opens_the_payments(shop: Shop, client: Client, name: str) -> None:
    passwords = {login: password for login, password, _who in reset_logins()}
    assert client.login(username=name, password=passwords[name])
    assert client.get("/admin/payments_pages/transaction/").status_code == 200
