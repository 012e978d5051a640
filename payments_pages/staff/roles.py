"""Three roles of staff, and a Django group for each.

Viewers cannot change anything. Operators work the queue but cannot override the policy, set prices
or export. Managers can. Nobody can delete a payment, or a page that the service has.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.db import transaction as db_transaction

from payments_pages.exceptions import ConfigurationError

__all__ = ["ROLES", "Granted", "Role", "make_groups"]

APP: Final = "payments_pages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role: its name, and the codenames of its permissions in this app."""

    name: str
    permissions: frozenset[str]


_LOOK = frozenset({"view_paymentpage", "view_transaction", "view_fulfilment", "view_verification"})
_WORK = _LOOK | {
    "attribute_transaction",
    "note_transaction",
    "retry_fulfilment",
    "sync_paymentpage",
    "verify_transaction",
    "view_customer_details",
    "view_savedcard",
}
_DECIDE = _WORK | {
    "add_paymentpage",
    "approve_fulfilment",
    "change_paymentpage",
    "export_transaction",
    "forget_savedcard",
    "reject_fulfilment",
    "remove_paymentpage",
}

ROLES: Final = (
    Role(name="viewer", permissions=_LOOK),
    Role(name="operator", permissions=_WORK),
    Role(name="manager", permissions=_DECIDE),
)
"""From the fewest permissions to the most; each role has all permissions of the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What was changed in one group; codenames, sorted."""

    group: str
    is_new: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]


def make_groups(*, prefix: str = "Payments: ", exact: bool = False) -> tuple[Granted, ...]:
    """Create or complete a group for each role, all or none; may be called any number of times.

    A group keeps its other permissions; with `exact`, other permissions *of this app* are removed.
    Raise `ConfigurationError` if the permissions are not in the database yet.
    """
    # Not imported: a site without users has no such models.
    permissions = apps.get_model("auth", "Permission")
    known = {row.codename: row for row in permissions.objects.filter(content_type__app_label=APP)}
    missing = {name for role in ROLES for name in role.permissions} - set(known)
    if missing:
        raise ConfigurationError(
            f"These permissions are not in the database: {', '.join(sorted(missing))}. "
            "Run `manage.py migrate` first."
        )
    with db_transaction.atomic():
        return tuple(
            _make(f"{prefix}{role.name}", [known[name] for name in role.permissions], exact=exact)
            for role in ROLES
        )


def _make(name: str, permissions: Iterable[Any], *, exact: bool) -> Granted:
    group, is_new = apps.get_model("auth", "Group").objects.get_or_create(name=name)
    wanted = set(permissions)
    had = set(group.permissions.filter(content_type__app_label=APP))
    added, removed = wanted - had, had - wanted if exact else set()
    group.permissions.add(*added)
    group.permissions.remove(*removed)
    return Granted(group=name, is_new=is_new, added=_names(added), removed=_names(removed))


def _names(permissions: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted(permission.codename for permission in permissions))
