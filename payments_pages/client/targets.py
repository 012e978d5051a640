"""The URL of a call, in which no value can change the path (docs/cases.md C11)."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit

from payments_pages.exceptions import ConfigurationError, InvalidReference

__all__ = ["Target", "build_target", "checked_base_url", "checked_proxy", "is_loopback"]

_STEPS = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class Target:
    """The URL of one call; `path`, with `{}` in place of its values, may be logged."""

    path: str
    url: str = field(repr=False)


def build_target(
    base_url: str, path: str, *values: str, query: Mapping[str, str | int] | None = None
) -> Target:
    """Put each value into its `{}` of `path`, as exactly one segment.

    Raise `InvalidReference` for `""`, `"."` and `".."`: dots cannot be quoted, and any server on
    the way may resolve them as a step up.
    """
    url = base_url + path.format(*map(_quoted, values))
    return Target(path, f"{url}?{urlencode(query)}" if query else url)


@lru_cache(maxsize=64)
def checked_base_url(base_url: str) -> str:
    """Return `base_url` without its last slash; raise `ConfigurationError` if it is not usable.

    Plain http is for loopback only: the key would travel unencrypted.
    """
    text = base_url.strip().rstrip("/")
    problem = _problem_of(text)
    if problem:
        raise ConfigurationError(f"The service's base URL {problem}.")
    return text


@lru_cache(maxsize=64)
def checked_proxy(proxy: str) -> str:
    """Return the URL of a proxy; raise `ConfigurationError`, which does not quote it, if it is none.

    `http://host:port`, with a user name and password where the proxy asks for them. Calls go
    through it in a tunnel, so it reads none of them. A proxy that speaks TLS itself is refused: it
    was not tried (our decision).
    """
    text = proxy.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        usable = parts.scheme == "http" and bool(parts.hostname) and parts.port is not None
    except ValueError:
        usable = False
    if not usable or parts.path or parts.query or parts.fragment:
        raise ConfigurationError("A proxy is written as http://host:port.")
    return text


def _problem_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return "is malformed"
    problems = {
        "may hold printable ASCII only": not url.isascii() or not url.isprintable() or " " in url,
        "must begin with https:// and a host": parts.scheme not in ("http", "https") or not host,
        "may hold no user name, query or fragment": "@" in parts.netloc or bool({*"?#"} & {*url}),
        "may hold no empty or dotted segment": bool(_STEPS & {*parts.path.split("/")[1:]}),
        "must be https: plain http is for loopback only": (
            parts.scheme == "http" and not is_loopback(host)
        ),
    }
    return next((problem for problem, found in problems.items() if found), "")


def is_loopback(host: str) -> bool:
    """Tell whether a host, as `urlsplit` gives it, is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _quoted(value: str) -> str:
    if value not in _STEPS:
        try:
            return quote(value, safe="")
        except UnicodeEncodeError:
            pass
    raise InvalidReference("This text cannot stand in the path of a call.")
