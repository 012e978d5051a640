"""Which pages this site sells, and which another site on the same account.

The service lists all pages of an account, also those of other sites. A page is sold here if staff
said so or, if they said nothing, if its redirect URL is blank or leads to this site. This site is
the host and port of `SITE_URL`; http and https are the same, so that a site may change to https.
The comparison is made anew each time and never stored: a copy of the database on another site has
the same rows, and must not deliver what this site delivers.

Without `SITE_URL` this site is any host that `ALLOWED_HOSTS` names in full. If it names none (a
wildcard does not count), URLs tell nothing. Then this site sells the pages that were made here, and
those with a blank redirect URL.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q

from payments_pages.conf import conf

__all__ = ["ELSEWHERE", "is_site_known", "is_sold_here", "sold_here", "this_site"]

ELSEWHERE: Final = "-"
"""The `seller` of a page of which staff said that another site sells it."""

_DEFAULT_PORTS: Final = frozenset({None, 80, 443})
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""Hosts that Django itself allows with `DEBUG` on and none named."""


def this_site() -> str:
    """Return this site's host, with its port if that is no default one; "" without `SITE_URL`.

    What staff said about a page is stored with this name, so that it does not count on a copy of
    the database.
    """
    try:
        parts = urlsplit(conf.site_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = _ascii(host.rstrip("."))
    if ":" in host:
        host = f"[{host}]"
    return host if port in _DEFAULT_PORTS or not host else f"{host}:{port}"


def is_site_known() -> bool:
    """Tell whether a setting names this site; otherwise a redirect URL tells nothing."""
    return bool(_ours())


def is_sold_here(redirect_url: str, seller: str, *, made_here: bool) -> bool:
    """Tell whether this site sells the page that has these fields."""
    if seller:
        return seller == this_site()
    if not redirect_url:
        return True
    ours = _ours()
    return bool(re.match(ours, redirect_url)) if ours else made_here


def sold_here() -> Q:
    """Return the same condition for a query of pages."""
    ours = _ours()
    to_us = Q(redirect_url="")
    to_us |= Q(redirect_url__regex=ours) if ours else Q(made_here=True)
    site = this_site()
    unsaid = Q(seller="") & to_us
    return unsaid | Q(seller=site) if site else unsaid


def _ours() -> str:
    """Return a regular expression for the start of this site's URLs; "" if the site is unknown.

    Python and all databases use the same simple expression. It has both cases of each letter,
    because they differ in what they match without case. After the host must come the path or the
    end: `https://shop.example@evil.example/` is another host.
    """
    site = this_site()
    if site:
        host, colon, port = site.rpartition(":")
        if colon and port.isdigit():
            return _address([host], f":{port}")
        return _address([site], "(:(80|443))?")
    hosts = settings.ALLOWED_HOSTS or (_LOCAL_HOSTS if settings.DEBUG else ())
    named = [_ascii(host.lower()) for host in hosts if host and "*" not in host and host[0] != "."]
    return _address(named, "(:[0-9]+)?") if named else ""


def _address(hosts: list[str], port: str) -> str:
    both = [*hosts, *(spelt for host in hosts if (spelt := _unicode(host)) != host)]
    return f"^{_any_case('http')}[sS]?://({'|'.join(map(_any_case, both))})[.]?{port}([/?#]|$)"


def _any_case(text: str) -> str:
    return "".join(
        f"[{letter.lower()}{letter.upper()}]"
        if letter.isascii() and letter.isalpha()
        else re.escape(letter)
        for letter in text
    )


def _ascii(host: str) -> str:
    """Return a host in ASCII (IDNA), or unchanged if it has no such form."""
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


def _unicode(host: str) -> str:
    try:
        return host.encode().decode("idna") if "xn--" in host else host
    except UnicodeError:
        return host
