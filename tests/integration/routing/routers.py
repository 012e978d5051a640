"""Routers as merchants have them."""

from typing import Any

OURS = frozenset({"payments_pages", "goods", "shop"})


class ReadsFromReplica:
    """Send every read of our rows to the replica, and no write."""

    def db_for_read(self, model: Any, **_hints: Any) -> str | None:
        return "replica" if model._meta.app_label in OURS else None

    def db_for_write(self, model: Any, **_hints: Any) -> str | None:
        return "default" if model._meta.app_label in OURS else None

    def allow_relation(self, one: Any, other: Any, **_hints: Any) -> bool:
        return True


class OwnAlias:
    """Keep our rows, and what is sold, in a database of their own."""

    def db_for_read(self, model: Any, **_hints: Any) -> str | None:
        return "payments" if model._meta.app_label in OURS else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool | None:
        return app_label in OURS if db == "payments" else None


class OwnAliasAlone(OwnAlias):
    """The same, and each database has its own apps and no relation to the other."""

    def db_for_read(self, model: Any, **_hints: Any) -> str | None:
        return "payments" if model._meta.app_label in OURS else "default"

    db_for_write = db_for_read

    def allow_relation(self, one: Any, other: Any, **_hints: Any) -> bool:
        return (one._meta.app_label in OURS) == (other._meta.app_label in OURS)
