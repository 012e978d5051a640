"""Let people into the demo's admin: one who may do all, and one for each role of staff."""

import secrets

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from payments_pages.staff import make_groups
from payments_pages.staff.roles import ROLES

__all__ = ["ADMIN", "reset_login", "reset_logins"]

ADMIN = "admin"
_PREFIX = "Payments: "


def reset_logins() -> list[tuple[str, str, str]]:
    """Give everybody a new random password; return login, password and what they are."""
    make_groups(prefix=_PREFIX)
    staff = [
        (*reset_login(role.name, group=f"{_PREFIX}{role.name}"), f"is a {role.name}")
        for role in ROLES
    ]
    return [(*reset_login(ADMIN), "may do everything"), *staff]


def reset_login(name: str, group: str = "") -> tuple[str, str]:
    """Give one member of staff a new random password; return login and password.

    Who is in no group may do everything.
    """
    password = secrets.token_urlsafe(9)
    users = get_user_model()
    user, _created = users.objects.get_or_create(
        **{users.USERNAME_FIELD: name}, defaults={"email": f"{name}@example.test"}
    )
    user.is_active = user.is_staff = True
    user.is_superuser = not group
    user.set_password(password)
    user.save()
    if group:
        user.groups.set([Group.objects.get(name=group)])
    return name, password
