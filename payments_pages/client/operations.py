"""The service's six operations (docs/service.md: Endpoints).

    client = Client(secret_key="sk_test_...", base_url="https://service.example/api")
    client.verify_transaction("PPG-1001").status

The client knows no settings and no database. Every operation raises

- `ServiceError`, or a subclass, if there is no usable response,
- `InvalidReference` for a text that cannot stand in a path,
- `ValueError` for arguments that no call could send.

An error of `create_page` or `update_page` says in `maybe_done` whether the service may have
carried the request out all the same.
"""

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

from payments_pages.client.envelope import open_envelope
from payments_pages.client.resilience import Gates
from payments_pages.client.resources import PageList, PageResource, TransactionResource
from payments_pages.client.targets import Target
from payments_pages.client.transport import SIZE_LIMIT, Transport
from payments_pages.exceptions import (
    InvalidResponse,
    NotFound,
    RateLimited,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
)
from payments_pages.limits import DEFAULT_LIMITS, Limits

__all__ = ["Client", "DateOrTime", "checked_amount", "checked_count", "iso_format", "page_key"]

DateOrTime = dt.datetime | dt.date


def checked_amount(amount: int) -> int:
    """Return an amount that is a positive int of minor units; else raise `ValueError`."""
    if type(amount) is not int or amount < 1:
        raise ValueError("An amount is a positive int of minor units.")
    return amount


def checked_count(number: int) -> int:
    """Return a number of the paging that is a positive int; else raise `ValueError`."""
    if type(number) is not int or number < 1:
        raise ValueError("per_page and page are positive integers.")
    return number


def page_key(id_or_slug: int | str) -> str:
    """Write what names a page as the text of one path segment; else raise `ValueError`."""
    if type(id_or_slug) not in (int, str):
        raise ValueError("A page is named by its id or its slug.")
    return str(id_or_slug)


def iso_format(value: DateOrTime) -> str:
    """Write ISO 8601: a date as it is, a datetime in UTC with Z.

    Raise `ValueError` for a naive datetime: it could mean any hour.
    """
    if not isinstance(value, dt.datetime):
        return value.isoformat()
    if value.utcoffset() is None:
        raise ValueError("from_ and to are dates or aware datetimes.")
    return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"


LIST_SIZE_LIMIT: Final = 5 * 1024 * 1024


# The body of a taken slug is not shown in the interface; these are the statuses that may carry it.
_SLUG_TAKEN: Final = frozenset({200, 400, 404, 409, 422})


_T = TypeVar("_T")


class Client:
    """The service's operations under one secret key.

    - `limits`: how long a call may take, and how many calls may wait at once.
    - `unknown_statuses`: HTTP statuses that mean "unknown now" when the service's envelope comes
      with them. The interface shows none; 404 is the likely one, 400 has been seen.
    - `before_call`: called with the operation's name before every call; refuses it by raising.
    - `proxy`: `http://host:port` of a proxy that calls go through, in a tunnel that hides them.
    - `ca_bundle`: the file of the certificate authorities to trust, in place of those of requests.
    - `gates`: shared by the clients of a process; counts the calls that wait, and stops calls to a
      service that keeps failing, for a while. None: neither is done.

    A client is cheap to build and safe to share: connections belong to the thread that calls.
    """

    def __init__(
        self,
        *,
        secret_key: str | Callable[[], str],
        base_url: str,
        limits: Limits = DEFAULT_LIMITS,
        unknown_statuses: Collection[int] = (404,),
        before_call: Callable[[str], None] | None = None,
        proxy: str | None = None,
        ca_bundle: str | None = None,
        gates: Gates | None = None,
    ) -> None:
        self._transport = Transport(
            secret_key=secret_key,
            base_url=base_url,
            limits=limits,
            proxy=proxy,
            ca_bundle=ca_bundle,
            gates=gates,
        )
        self._unknown_statuses = frozenset(unknown_statuses)
        self._before_call = before_call

    def __repr__(self) -> str:
        return f"<Client {self._transport.base_url}>"

    def create_page(
        self,
        *,
        name: str,
        amount: int | None = None,
        description: str = "",
        slug: str = "",
        redirect_url: str = "",
        metadata: Mapping[str, Any] | None = None,
        custom_fields: Sequence[Mapping[str, Any]] = (),
    ) -> PageResource:
        """Create a page; `amount` is in minor units, None lets the payer choose.

        The amount goes out as a string (docs/service.md: accepted on create). What is empty is left
        out: the service makes a slug only when none is sent (docs/cases.md C60).
        """
        optional = {
            "amount": None if amount is None else str(checked_amount(amount)),
            "description": description,
            "slug": slug,
            "redirect_url": redirect_url,
            "metadata": dict(metadata or {}),
            "custom_fields": [dict(element) for element in custom_fields],
        }
        body = {"name": name} | {key: value for key, value in optional.items() if value}
        return self._page("create_page", "POST", "/page", json_body=body)

    def list_pages(
        self,
        *,
        per_page: int = 50,
        page: int = 1,
        from_: DateOrTime | None = None,
        to: DateOrTime | None = None,
    ) -> PageList:
        """List one page of pages; `from_` and `to` are dates or aware datetimes."""
        query: dict[str, str | int] = {
            "perPage": checked_count(per_page),
            "page": checked_count(page),
        }
        for key, value in (("from", from_), ("to", to)):
            if value is not None:
                query[key] = iso_format(value)

        def read(envelope: dict[str, Any]) -> PageList:
            items = envelope.get("data")
            if not isinstance(items, list):
                raise InvalidResponse("The list in the answer is not an array.")
            return PageList.from_payload(items, envelope.get("meta"))

        return self._call(
            "list_pages", "GET", "/page", query=query, size_limit=LIST_SIZE_LIMIT, read=read
        )

    def fetch_page(self, id_or_slug: int | str) -> PageResource:
        """Fetch one page by id or slug; raise `NotFound` if the service does not know it."""
        return self._page("fetch_page", "GET", "/page/{}", page_key(id_or_slug))

    def update_page(
        self,
        id_or_slug: int | str,
        *,
        name: str,
        amount: int | None = None,
        description: str | None = None,
        active: bool | None = None,
    ) -> PageResource:
        """Change a page; None is not sent. `name` always is, because the service requires it.

        `amount` is in minor units and goes out as an integer (docs/service.md: accepted on update).
        """
        optional = {
            "amount": None if amount is None else checked_amount(amount),
            "description": description,
            "active": active,
        }
        body = {"name": name} | {k: value for k, value in optional.items() if value is not None}
        return self._page("update_page", "PUT", "/page/{}", page_key(id_or_slug), json_body=body)

    def check_slug(self, slug: str) -> bool:
        """Tell whether a slug is free: only a status of exactly true says so.

        An envelope of status false means taken; the interface shows neither body.
        """
        path = "/page/check_slug_availability/{}"
        try:
            self._call("check_slug", "GET", path, slug, read=dict)
        except (RequestRefused, NotFound) as error:
            if error.status not in _SLUG_TAKEN:
                raise
            return False
        return True

    def verify_transaction(self, reference: str) -> TransactionResource:
        """Ask about one reference; the payment's outcome is the resource's `status` alone.

        Raise `NotFound` if the service does not know it now (a later call may), and
        `InvalidResponse` if the answer is about any other reference, byte for byte.
        """

        def read(envelope: dict[str, Any]) -> TransactionResource:
            data = envelope.get("data")
            if not isinstance(data, dict):
                raise InvalidResponse("The transaction in the answer is not an object.")
            if data.get("reference") != reference:
                raise InvalidResponse("The answer is about another reference.")
            return TransactionResource.from_payload(data)

        path = "/transaction/verify/{}"
        return self._call("verify_transaction", "GET", path, reference, read=read)

    def _page(
        self, operation: str, method: str, path: str, *values: str, **more: Any
    ) -> PageResource:
        def read(envelope: dict[str, Any]) -> PageResource:
            return PageResource.from_payload(envelope.get("data"))

        return self._call(operation, method, path, *values, read=read, **more)

    def _call(
        self,
        operation: str,
        method: str,
        path: str,
        *values: str,
        read: Callable[[dict[str, Any]], _T],
        query: Mapping[str, str | int] | None = None,
        json_body: Mapping[str, Any] | None = None,
        size_limit: int = SIZE_LIMIT,
    ) -> _T:
        target = self._transport.target(path, *values, query=query)
        if self._before_call is not None:
            self._before_call(operation)
        try:
            return read(self._envelope(method, target, json_body, size_limit))
        except ServiceError as error:
            if method != "GET" and _may_be_done(error):
                error.maybe_done = True
            # Error reporters copy the variables of every frame, and those below have the key's
            # header and the payer's data. The message is enough.
            failure = error.with_traceback(None)
        raise failure

    def _envelope(
        self, method: str, target: Target, json_body: Mapping[str, Any] | None, size_limit: int
    ) -> dict[str, Any]:
        response = self._transport.exchange(
            method, target, json_body=json_body, size_limit=size_limit
        )
        return open_envelope(
            response, unknown_statuses=self._unknown_statuses, clean=self._transport.redacted
        )


def _may_be_done(error: ServiceError) -> bool:
    """Tell whether a write may have been carried out although this error came of it."""
    broken = isinstance(error, InvalidResponse)
    unwell = isinstance(error, ServiceUnavailable) and not isinstance(error, RateLimited)
    return error.maybe_done or broken or (unwell and error.status is not None)
