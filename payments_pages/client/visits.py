"""Visits: requests without the key, to a payer's page or to a door of this site.

A visit has a deadline, keeps no cookie, and uses no proxy or password that the environment names.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin, urlsplit

import requests
from requests.structures import CaseInsensitiveDict

from payments_pages import __version__
from payments_pages.client.connections import Deadline, Session, under
from payments_pages.client.failures import FOREIGN, failure_from
from payments_pages.client.targets import checked_proxy, is_loopback
from payments_pages.exceptions import ServiceError
from payments_pages.limits import DEFAULT_LIMITS, Limits

__all__ = ["Visit", "visit"]

SIZE_LIMIT: Final = 64 * 1024
"""The most bytes of a body that are read."""
MAX_REDIRECTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """The answer to a visit.

    - `url`: the address that answered; another one than was visited after a redirect.
    - `location`: where the answer redirects to, as an absolute URL, or "".
    - `asked_at`, `answered_at`: by this machine's clock, around the last request.
    """

    url: str
    status: int
    location: str
    asked_at: dt.datetime
    answered_at: dt.datetime
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


def visit(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    follow: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    proxy: str | None = None,
    ca_bundle: str | None = None,
) -> Visit:
    """Make one request, and return whatever HTTP answer comes, also an error.

    With `follow` up to five redirects are followed, none of them from https to http on another
    machine. All of it ends with the deadline of `limits`. Raise `ServiceError` if no HTTP answer
    came; its message speaks of "the service".
    """
    deadline = Deadline(limits)
    proxies = {"https": checked_proxy(proxy)} if proxy else {}
    try:
        with Session() as session, under(deadline):
            for _redirect in range(MAX_REDIRECTS + 1):
                request = _request(method, url, body, headers)
                asked_at = dt.datetime.now(dt.UTC)
                response = session.send(
                    request,
                    stream=True,
                    timeout=(limits.connect_timeout, limits.read_timeout),
                    verify=ca_bundle or True,
                    proxies=proxies,
                )
                found = _read(response, url, asked_at)
                if not (follow and found.location and _may_follow(found.location)):
                    break
                url = found.location
            return found
    except FOREIGN as error:
        failure: ServiceError = failure_from(error)
    # Outside of the `except`: the foreign error has the request, and with it the signature.
    raise failure


def _request(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str] | None
) -> requests.PreparedRequest:
    request = requests.Request(method, url, data=body).prepare()
    request.headers.update(
        {
            "Accept-Encoding": "identity",
            "User-Agent": f"payments-pages/{__version__}",
            **(headers or {}),
        }
    )
    return request


def _read(response: requests.Response, url: str, asked_at: dt.datetime) -> Visit:
    try:
        # The head is here: the clock that it tells must not wait for the body.
        answered_at = dt.datetime.now(dt.UTC)
        is_redirect = 300 <= response.status_code < 400
        location = response.headers.get("Location", "") if is_redirect else ""
        return Visit(
            url=url,
            status=response.status_code,
            location=urljoin(url, location) if location else "",
            asked_at=asked_at,
            answered_at=answered_at,
            headers=CaseInsensitiveDict(response.headers),
            body=response.raw.read(SIZE_LIMIT, decode_content=False),
        )
    finally:
        response.close()


def _may_follow(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
