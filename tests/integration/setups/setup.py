"""What a row says of its site."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import django

__all__ = ["Setup"]

ALL = {"en": "en", "ar": "ar", "he": "he"}
"""Which language a payer gets who asks for one: a site with all three of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A set-up: what is special about it, what holds there, and the settings that make it.

    - `settings` replace those of `project.settings`; `payments` are keys of `PAYMENTS_PAGES`.
    - `urls` is the module of its URLs. `admin`, `doors` and `shop` are the paths in them.
    - `server` is "django", "uvicorn" or "gunicorn".
    - `prefix` is the path below which the site is mounted; `proxy` tells how a proxy mounts it:
      "" (there is no proxy), "strip" (the site does not see the prefix), "script-name" (the proxy
      names it in a header) or "host" (the proxy sends another `Host`).
    - `without` are the steps of the story that this site has no page for.
    - `languages` is the language of the result page by the header that asks for it; `offered` are
      the links in it.
    - `staff_language` is the header of staff; "" for none.
    - `own_door` is the path of a view of the site's own that confirms.
    - `front` is what the site's own front page answers anybody who is not logged in; `cached`: it is the same page for
      the next one. `static` is a part of every static file's address, as a regular expression.
    - `headers` are on each result page, by what the row adds to the site.
    - `policy` is a part of the site's own Content-Security-Policy, which must be sent.
    - `checks` are the ids of the system checks that speak up there.
    - `first_key` is the key of the first row in each table of ours.
    - `database` is the alias that the handler writes to, `driver` the module that Django connects by.
    - `needs` are the packages, and `django_from` the Django, that it cannot be built without.
    - `postgresql`: it is about that server.
    """

    name: str
    special: str
    holds: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    payments: Mapping[str, Any] = field(default_factory=dict)
    urls: str = "tests.integration.setups.project.urls"
    admin: str = "/admin/"
    doors: str = "/payments/"
    shop: str = "/shop/"
    server: str = "django"
    prefix: str = ""
    proxy: str = ""
    login: str = "staff"
    without: frozenset[str] = frozenset()
    languages: Mapping[str, str] = field(default_factory=lambda: ALL)
    offered: tuple[str, ...] = ("ar", "en", "he")
    staff_language: str = "en"
    own_door: str = ""
    front: int = 200
    cached: bool = False
    static: str = "^/static/"
    headers: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    first_key: int = 1
    database: str = "default"
    driver: str = "sqlite3.dbapi2"
    checks: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    django_from: tuple[int, int] = (5, 2)
    postgresql: bool = False

    @property
    def why_left_out(self) -> str:
        """Say what this set-up needs and this environment does not have; "" if it can be built."""
        if django.VERSION[:2] < self.django_from:
            return "needs Django " + ".".join(map(str, self.django_from))
        missing = [name for name in self.needs if find_spec(name) is None]
        return f"needs {' and '.join(missing)}" if missing else ""
