"""Check the origin of a page's redirect address, which nobody can change later."""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from payments_pages.choices import Mode
from payments_pages.client import is_loopback
from payments_pages.conf import conf
from payments_pages.exceptions import PageError

__all__ = ["is_origin", "is_reserved", "is_safe", "return_origin"]

_RESERVED: Final = ("example.com", "example.net", "example.org", "example", "invalid", "test")
"""Hosts that are reserved for documentation and tests (RFC 2606, RFC 6761)."""


def return_origin(requested: str = "") -> str:
    """Return this site's origin without a trailing slash: `SITE_URL`, or else `requested`.

    `requested` is the origin of a staff member's request, or "". Behind a proxy it may be one
    that payers cannot reach. Raise `PageError` if

    - there is neither of the two;
    - the origin is neither https nor this machine, or has a path;
    - `requested` is used, and its host is an IP address or a name without a dot;
    - its host is reserved for documentation, in live mode.
    """
    origin = conf.site_url or requested.rstrip("/")
    if not origin:
        raise PageError(_("Set SITE_URL, so that payers can come back to this site."))
    is_reachable = is_origin(origin) and (bool(conf.site_url) or _is_public(origin))
    if not is_reachable or (is_reserved(origin) and conf.mode == Mode.LIVE):
        message = _(
            "A page’s redirect address can never be changed, and it is not certain that payers "
            'can reach %(origin)s. Set PAYMENTS_PAGES["SITE_URL"] to this site’s own public '
            "address, which begins with https:// and has no path."
        ) % {"origin": origin}
        raise PageError(message)
    return origin


def is_safe(url: str) -> bool:
    """Return whether a URL is https, or http on this machine, and no more than host and path."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or parts.query or parts.fragment:
        return False
    if not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def is_origin(url: str) -> bool:
    """Return whether a URL is safe and has no path: a view's path can be added to it."""
    return is_safe(url) and urlsplit(url).path in {"", "/"}


def is_reserved(url: str) -> bool:
    """Return whether the host of a URL is reserved for documentation."""
    host = _host_of(url)
    return any(host == name or host.endswith(f".{name}") for name in _RESERVED)


def _is_public(origin: str) -> bool:
    """Return whether the host is this machine (for development), or a name with a dot in it."""
    host = _host_of(origin)
    return is_loopback(host) or ("." in host and not _is_ip_address(host))


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""
