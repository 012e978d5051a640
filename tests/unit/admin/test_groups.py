"""Three groups by a command; the documented table is the code's."""

import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import CommandError, call_command

from payments_pages.staff.roles import ROLES

pytestmark = pytest.mark.django_db

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "admin-permissions.md").read_text()


def run(*args: str) -> list[str]:
    out = io.StringIO()
    call_command("payments_pages_groups", *args, stdout=out)
    return out.getvalue().splitlines()


def held_by(name: str) -> set[str]:
    return set(Group.objects.get(name=name).permissions.values_list("codename", flat=True))


def test_the_command_makes_a_group_for_each_role() -> None:
    lines = run()
    assert [line.split(": added")[0] for line in lines] == [
        "Payments: viewer (new)",
        "Payments: operator (new)",
        "Payments: manager (new)",
    ]
    for role in ROLES:
        assert held_by(f"Payments: {role.name}") == role.permissions


def test_the_command_again_changes_nothing() -> None:
    run()
    before = {role.name: held_by(f"Payments: {role.name}") for role in ROLES}
    assert run() == [f"Payments: {role.name} (kept): unchanged." for role in ROLES]
    assert {role.name: held_by(f"Payments: {role.name}") for role in ROLES} == before


def test_the_command_completes_a_group_and_takes_nothing_from_it() -> None:
    run()
    group = Group.objects.get(name="Payments: viewer")
    group.permissions.remove(Permission.objects.get(codename="view_paymentpage"))
    group.permissions.add(Permission.objects.get(codename="approve_fulfilment"))
    assert run()[0] == "Payments: viewer (kept): added view_paymentpage."
    assert "approve_fulfilment" in held_by("Payments: viewer")


def test_exact_takes_away_other_permissions_of_this_app_alone() -> None:
    run()
    group = Group.objects.get(name="Payments: viewer")
    for codename in ("approve_fulfilment", "view_user"):
        group.permissions.add(Permission.objects.get(codename=codename))
    assert run("--exact")[0] == "Payments: viewer (kept): removed approve_fulfilment."
    assert held_by("Payments: viewer") == ROLES[0].permissions | {"view_user"}


def test_the_groups_may_have_another_prefix_and_keep_their_members() -> None:
    run("--prefix", "Shop ")
    member = User.objects.create_user("noor", is_staff=True)
    member.groups.add(Group.objects.get(name="Shop operator"))
    run("--prefix", "Shop ", "--exact")
    assert Group.objects.count() == 3
    assert member.has_perm("payments_pages.retry_fulfilment")
    assert not member.has_perm("payments_pages.approve_fulfilment")


def test_without_the_permissions_it_makes_no_group_and_says_what_to_do() -> None:
    Permission.objects.filter(codename="retry_fulfilment").delete()
    with pytest.raises(CommandError, match=r"retry_fulfilment.*manage\.py migrate"):
        run()
    assert not Group.objects.exists()


def test_each_role_has_all_of_the_one_before_and_none_can_delete() -> None:
    for less, more in pairwise(ROLES):
        assert less.permissions < more.permissions
    assert not [name for role in ROLES for name in role.permissions if name.startswith("delete_")]


def test_a_manager_has_every_permission_that_anything_in_the_admin_asks_for() -> None:
    package = Path(__file__).resolve().parents[3] / "payments_pages" / "admin"
    asked = {
        codename
        for path in package.rglob("*.py")
        for codename in re.findall(r'"payments_pages\.(\w+_\w+)"', path.read_text())
        if Permission.objects.filter(codename=codename).exists()
    }
    assert {"verify_transaction", "export_transaction"} <= asked
    assert asked <= ROLES[-1].permissions


def documented() -> dict[str, dict[str, bool]]:
    """Of each permission in the page's table, who has it."""
    table = PAGE.split("<!-- roles -->")[1].split("<!-- end -->")[0]
    head, _rule, *lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()
    ]
    return {
        cells[0].strip("`"): {
            name: cell == "✓" for name, cell in zip(head[2:], cells[2:], strict=True)
        }
        for cells in lines
    }


def test_the_documented_table_is_the_code() -> None:
    table = documented()
    every: set[Any] = {name for role in ROLES for name in role.permissions}
    assert set(table) == every
    for role in ROLES:
        assert {name for name, who in table.items() if who[role.name]} == role.permissions
