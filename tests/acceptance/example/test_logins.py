"""Who may sign in to the demo's admin, and what each sees there."""

import pytest
from django.contrib.auth import authenticate
from django.test import Client

from example_project.demo.logins import reset_login, reset_logins
from payments_pages.staff.roles import ROLES
from tests.acceptance.example.conftest import Shop


def test_there_is_a_login_for_each_role_and_one_for_everything(db: None) -> None:
    logins = reset_logins()
    assert [name for name, _password, _who in logins] == ["admin", *(role.name for role in ROLES)]
    for name, password, _who in logins:
        user = authenticate(username=name, password=password)
        assert user is not None
        assert user.is_superuser is (name == "admin")


def test_each_start_gives_new_passwords_and_makes_nobody_twice(db: None) -> None:
    before = {name: password for name, password, _who in reset_logins()}
    after = {name: password for name, password, _who in reset_logins()}
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


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
