"""The table of set-ups in `docs/setups.md`, as the rows say it."""

import re

from tests.integration.setups.rows import SETUPS
from tests.integration.setups.setup import Setup
from tests.integration.setups.site import ROOT

__all__ = ["PAGE", "written"]

PAGE = ROOT / "docs" / "setups.md"
BLOCK = re.compile(r"(<!-- setups -->\n).*(<!-- /setups -->)", re.DOTALL)


def written(page: str) -> str:
    """Return the page with the table of today."""
    lines = ["| set-up | what is special | what holds |", "|---|---|---|", *map(_line, SETUPS)]
    table = "".join(f"{line}\n" for line in lines)
    return BLOCK.sub(lambda found: f"{found[1]}{table}{found[2]}", page)


def _line(setup: Setup) -> str:
    where = ""
    if setup.postgresql:
        where = " (PostgreSQL)"
    elif setup.django_from > (5, 2):
        where = f" (from Django {setup.django_from[0]}.{setup.django_from[1]})"
    return f"| {setup.name}{where} | {setup.special} | {setup.holds} |"
