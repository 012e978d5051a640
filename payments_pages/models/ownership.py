"""Tell a page that this site sells from one of another site on the same account.

The service lists all pages of an account, those of other sites among them. A page is sold here if staff said
so, or, where they said nothing, if its redirect address is blank or leads to this site. This
site is the host and port of `SITE_URL`; http and https are one, so that a site may change to
https. It is compared anew each time and never kept: a copy of the database on another site has
the same rows, and must not deliver what that site delivers.

Without `SITE_URL` it is any host that `ALLOWED_HOSTS` names in full. A wildcard names none: then
no address tells anything, and sold here are the pages that this site had made by the service, and
those with a blank redirect address.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q

from payments_pages.conf import conf

__all__ = ["ELSEWHERE", "is_site_known", "is_sold_here", "sold_here", "this_site"]

ELSEWHERE: Final = "-"
"""What a page's `seller` holds when staff said that another site sells it."""

_DEFAULT_PORTS: Final = frozenset({None, 80, 443})
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""Hosts that Django itself allows with `DEBUG` on and none named."""


def this_site() -> str:
    """Return this site's host, with its port if that is no default one; "" without `SITE_URL`.

    Staff's word about a page is kept under this name, so that it counts on no copy of the data.
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
    """Say whether anything names this site; without that a redirect address tells nothing."""
    return bool(_ours())


def is_sold_here(redirect_url: str, seller: str, *, made_here: bool) -> bool:
    """Say whether this site sells the page that has these."""
    if seller:
        return seller == this_site()
    if not redirect_url:
        return True
    ours = _ours()
    return bool(re.match(ours, redirect_url)) if ours else made_here


def sold_here() -> Q:
    """Return the condition on pages that says the same in the database."""
    ours = _ours()
    to_us = Q(redirect_url="")
    to_us |= Q(redirect_url__regex=ours) if ours else Q(made_here=True)
    site = this_site()
    unsaid = Q(seller="") & to_us
    return unsaid | Q(seller=site) if site else unsaid


def _ours() -> str:
    """Return what an address of this site begins with, as a regular expression; "" if unknown.

    One expression for Python and all databases, hence of the plainest kind, with both cases of
    each letter spelt out: what "whatever its case" takes for one letter differs between them. What
    follows the host must be the path or the end: `https://shop.example@evil.example/` is another.
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
    """Write a host of any script as the wire does; as it is, if it cannot be written so."""
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


def _unicode(host: str) -> str:
    try:
        return host.encode().decode("idna") if "xn--" in host else host
    except UnicodeError:
        return host
