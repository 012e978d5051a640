"""Follow every link of our pages in an admin, as staff would on their first day."""

import re
from urllib.parse import urljoin, urlsplit

from tests.integration.setups.browser import Browser, Page

__all__ = ["crawl"]

MOST = 60
"""Pages opened at most."""


def crawl(staff: Browser, admin: str, policy: str) -> list[str]:
    """Open our app's index and whatever of our app it leads to; return the paths.

    The admin's own index is left out: its list of recent actions is Django's, which links them to
    the default admin whatever admin shows it. Each path is opened once without a query and once with one. Fails for a page that does not
    open, for a link of our app that leads into another admin, and for what a strict
    Content-Security-Policy would stop; `policy` must be in the header of each.
    """
    root = urlsplit(admin).path
    waiting, seen = [f"{admin}payments_pages/"], dict[str, str]()
    while waiting and len(seen) < MOST:
        address = waiting.pop(0)
        kind = _kind(address)
        if kind in seen:
            continue
        seen[kind] = urlsplit(address).path
        answer = staff.get(address)
        assert answer.status_code == 200, f"{address} is {answer.status_code}: {answer.text[:500]}"
        assert policy in answer.headers.get("Content-Security-Policy", ""), address
        if "text/html" not in answer.headers["Content-Type"]:
            continue
        page = Page(answer.text)
        assert page.inline == [], f"{address} has {page.inline}"
        for link in filter(_is_ours, page.links):
            path = urlsplit(urljoin(address, link)).path
            assert path.startswith(root), f"{address} leads to {link}"
            if not _is_button(path):
                waiting.append(urljoin(answer.url, link))
    return list(seen.values())


def _kind(address: str) -> str:
    """One page of each kind is enough: the number is left out, and what a query asks."""
    parts = urlsplit(address)
    return re.sub(r"\d+", "N", parts.path) + ("?" if parts.query else "")


def _is_ours(link: str) -> bool:
    return "payments_pages/" in link and not link.startswith("#")


def _is_button(path: str) -> bool:
    """Addresses that only take a POST."""
    return path.endswith(("/sync/", "/export/", "/export/xlsx/", "/seller/", "/drift/"))
