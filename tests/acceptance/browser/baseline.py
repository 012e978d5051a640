"""Hold ours against Django's own admin: what axe finds there is nothing that we brought."""

import json
from pathlib import Path
from typing import Any

import django
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page

from tests.acceptance.browser.axe import in_all_variants

__all__ = ["BASELINE", "SERIES", "allowed", "measure", "read", "write"]

BASELINE = Path(__file__).parent / "axe_baseline.json"
SERIES = ".".join(map(str, django.VERSION[:2]))

STOCK = (
    "",
    "auth/",
    "auth/user/",
    "auth/user/?q=nobody",
    "auth/user/add/",
    "auth/user/{user}/change/",
    "auth/user/{user}/history/",
    "auth/group/",
    "auth/group/add/",
    "auth/group/{group}/change/",
)
"""Pages of ordinary ModelAdmins: index, lists with filters and found by a search, forms, history."""


def measure(page: Page, shop: str) -> dict[str, list[str]]:
    """Return what axe finds in stock admin, and on which pages, in every variant."""
    group, _made = Group.objects.get_or_create(name="Tea")
    user = User.objects.order_by("pk").first()
    assert user is not None
    found: dict[str, set[str]] = {}
    for path in STOCK:
        page.goto(f"{shop}/admin/{path.format(user=user.pk, group=group.pk)}")
        for _variant, findings in in_all_variants(page):
            for finding in findings:
                found.setdefault(finding, set()).add(path or "index")
    return {finding: sorted(paths) for finding, paths in sorted(found.items())}


def read() -> Any:
    """Return the written baseline: the series of Django, and what was found."""
    return json.loads(BASELINE.read_text())


def write(found: dict[str, list[str]]) -> None:
    """Write what was measured."""
    text = json.dumps({"django": SERIES, "found": found}, indent=2)
    BASELINE.write_text(text + "\n")


def allowed(page: Page, shop: str) -> set[str]:
    """Return what may be found on a page of ours, for Django brings it along.

    Measured on the spot where the file is of another Django.
    """
    found = read()["found"] if read()["django"] == SERIES else measure(page, shop)
    return set(found)
