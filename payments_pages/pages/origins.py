"""Say which origins may stand in a page's redirect address, which nobody can change afterwards."""

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
"""Names that lead nowhere, for good (RFC 2606, RFC 6761)."""


def return_origin(requested: str = "") -> str:
    """Return this site's own origin, without a slash at its end: `SITE_URL`, or the request's.

    `requested` is the origin of a staff member's request, or "". It is taken only where payers
    can surely reach it: not if it is http (a proxy that ended TLS), or a host of a network behind
    one. Raise `PageError` for an origin that no page may be made with.
    """
    origin = conf.site_url or requested.rstrip("/")
    if not origin:
        raise PageError(_("Set SITE_URL, so that payers can come back to this site."))
    surely = is_origin(origin) and (bool(conf.site_url) or _is_public(origin))
    if not surely or (is_reserved(origin) and conf.mode == Mode.LIVE):
        message = _(
            "A page’s redirect address can never be changed, and it is not certain that payers "
            'can reach %(origin)s. Set PAYMENTS_PAGES["SITE_URL"] to this site’s own public '
            "address, which begins with https:// and has no path."
        ) % {"origin": origin}
        raise PageError(message)
    return origin


def is_safe(address: str) -> bool:
    """Tell whether an address is https, or http on this machine itself, and nothing but one."""
    try:
        parts = urlsplit(address)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or parts.query or parts.fragment:
        return False
    if not address.isprintable() or " " in address:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def is_origin(address: str) -> bool:
    """Tell whether a safe address has no path: that of our views is put behind it."""
    return is_safe(address) and urlsplit(address).path in {"", "/"}


def is_reserved(address: str) -> bool:
    """Tell whether the host of an address is one that documentation uses, and nobody has."""
    host = _host_of(address)
    return any(host == name or host.endswith(f".{name}") for name in _RESERVED)


def _is_public(origin: str) -> bool:
    """Tell whether a host is this machine itself, or a name that others can know it by."""
    host = _host_of(origin)
    return is_loopback(host) or ("." in host and not _is_number(host))


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host_of(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:
        return ""
