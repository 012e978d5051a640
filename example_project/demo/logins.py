"""Let people into the demo: one who may do all, one for each role of staff, and a buyer.

Their passwords are kept in the demo's directory: whoever wrote one down gets in again tomorrow.
"""

import json
import secrets
from pathlib import Path

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractUser, Group

from payments_pages.staff import make_groups
from payments_pages.staff.roles import ROLES

__all__ = ["ADMIN", "BUYER", "BUYER_EMAIL", "Login", "find_buyer", "reset_login", "reset_logins"]

ADMIN, BUYER = "admin", "payer"
BUYER_EMAIL = "payer@example.test"
"""What stands in the e-mail field of the sandbox's pages: this buyer finds what was paid there."""
_PREFIX = "Payments: "

_SENTENCES = {
    ADMIN: "may do everything",
    "viewer": "answers “has this been paid?”; payers are masked",
    "operator": "works off what needs attention",
    "manager": "decides where the rules do not, sets prices, exports",
    BUYER: f"a buyer: finds in the shop what {BUYER_EMAIL} paid",
}
"""What each of them does; the roles' sentences are those of `docs/admin-permissions.md`."""

Login = tuple[str, str, str]
"""Name, password, and what they do."""


def reset_logins(file: Path | None = None) -> list[Login]:
    """Make everybody, or give them their rights back.

    Passwords are those that `file` keeps; what is missing there is drawn, and kept. Without a file
    all are new.
    """
    make_groups(prefix=_PREFIX)
    kept = _read(file) if file else {}
    passwords = {name: kept.get(name) or secrets.token_urlsafe(9) for name in _SENTENCES}
    if file and passwords != kept:
        _write(file, passwords)
    reset_login(ADMIN, password=passwords[ADMIN])
    for role in ROLES:
        reset_login(role.name, group=f"{_PREFIX}{role.name}", password=passwords[role.name])
    buyer = _user(BUYER, BUYER_EMAIL, passwords[BUYER])
    buyer.is_staff = buyer.is_superuser = False
    buyer.save()
    return [(name, passwords[name], sentence) for name, sentence in _SENTENCES.items()]


def find_buyer() -> AbstractUser:
    """Return the buyer; if there is none yet, make one who cannot sign in before `reset_logins`."""
    users = get_user_model()
    fields = {"email": BUYER_EMAIL, "password": make_password(None)}
    user, _created = users.objects.get_or_create(**{users.USERNAME_FIELD: BUYER}, defaults=fields)
    return user


def reset_login(name: str, group: str = "", *, password: str = "") -> tuple[str, str]:
    """Give one member of staff a password, a new random one unless given; return both.

    Who is in no group may do everything.
    """
    password = password or secrets.token_urlsafe(9)
    user = _user(name, f"{name}@example.test", password)
    user.is_staff = True
    user.is_superuser = not group
    user.save()
    if group:
        user.groups.set([Group.objects.get(name=group)])
    return name, password


def _user(name: str, email: str, password: str) -> AbstractUser:
    users = get_user_model()
    user, _created = users.objects.get_or_create(
        **{users.USERNAME_FIELD: name}, defaults={"email": email}
    )
    user.is_active = True
    if not user.check_password(password):
        user.set_password(password)
    return user


def _read(file: Path) -> dict[str, str]:
    """Return the passwords by name; none if the file is missing or somebody spoilt it."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(word) for name, word in kept.items()} if isinstance(kept, dict) else {}


def _write(file: Path, passwords: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # Nobody else on this machine reads it, not even while it is written.
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(json.dumps(passwords, indent=2), encoding="utf-8")
