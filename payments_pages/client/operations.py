"""Call the service's six operations (docs/service.md: Endpoints) and believe as little as possible.

    client = Client(secret_key="sk_test_...", base_url="https://service.example/api")
    client.verify_transaction("PPG-1001").status

Settings, databases and decisions are none of its business. Every operation raises
`ServiceError` or one of its kinds when there is no answer to act upon, `InvalidReference` for
text that cannot stand in a path, and `ValueError` for arguments that no call could carry. An
error of `create_page` or `update_page` says in `maybe_done` whether the service may have carried
the request out all the same.
"""

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from payments_pages.client.envelope import open_envelope
from payments_pages.client.resilience import Gates
from payments_pages.client.resources import PageList, PageResource, SkippedPage, TransactionResource
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

__all__ = ["MAX_LISTS", "Client", "Moment", "iso_text", "minor_units", "page_key", "positive"]

Moment = dt.datetime | dt.date


def minor_units(amount: int) -> int:
    """Give an amount back if it is a positive int of minor units; else raise `ValueError`."""
    if type(amount) is not int or amount < 1:
        raise ValueError("An amount is a positive int of minor units.")
    return amount


def positive(number: int) -> int:
    """Give a number of the paging back if it is a positive int; else raise `ValueError`."""
    if type(number) is not int or number < 1:
        raise ValueError("per_page and page are positive integers.")
    return number


def page_key(id_or_slug: int | str) -> str:
    """Write what names a page as the text of one path segment; else raise `ValueError`."""
    if type(id_or_slug) not in (int, str):
        raise ValueError("A page is named by its id or its slug.")
    return str(id_or_slug)


def iso_text(moment: Moment) -> str:
    """Write ISO 8601: a date as it is, a datetime in UTC with Z.

    Raise `ValueError` for a naive datetime: it could mean any hour.
    """
    if not isinstance(moment, dt.datetime):
        return moment.isoformat()
    if moment.utcoffset() is None:
        raise ValueError("from_ and to are dates or aware datetimes.")
    return moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"


MAX_LISTS: Final = 1_000
"""Lists that `iterate_pages` asks for before it takes the listing for an endless one."""


LIST_SIZE_LIMIT: Final = 5 * 1024 * 1024


# The body of a taken slug is not shown in the interface; these are the statuses that may carry it.
_SLUG_TAKEN: Final = frozenset({200, 400, 404, 409, 422})


_T = TypeVar("_T")


class Client:
    """Speak to the service with one secret key.

    Times are in seconds; `deadline` bounds a whole call. `unknown_statuses` are the HTTP
    statuses that mean "unknown now" when the service's envelope comes with them: the interface
    shows none, 404 is the likely one, 400 is seen as well (docs/service.md, only seen). `before_call` is run
    with the operation's name before every call and may refuse it by raising. With `gates`, shared
    by the clients of a process, at most `max_calls` calls wait at once and a service that keeps
    failing is left alone for a while. A client is cheap to build and safe to share: connections
    belong to the thread that calls.
    """

    def __init__(
        self,
        *,
        secret_key: str | Callable[[], str],
        base_url: str,
        connect_timeout: float = 3,
        read_timeout: float = 5,
        deadline: float = 8,
        unknown_statuses: Collection[int] = (404,),
        before_call: Callable[[str], None] | None = None,
        ca_bundle: str | None = None,
        gates: Gates | None = None,
        max_calls: int = 4,
    ) -> None:
        self._transport = Transport(
            secret_key=secret_key,
            base_url=base_url,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            deadline=deadline,
            ca_bundle=ca_bundle,
            gates=gates,
            max_calls=max_calls,
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
            "amount": None if amount is None else str(minor_units(amount)),
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
        from_: Moment | None = None,
        to: Moment | None = None,
    ) -> PageList:
        """List one page of pages; `from_` and `to` are dates or aware datetimes."""
        query: dict[str, str | int] = {"perPage": positive(per_page), "page": positive(page)}
        for key, moment in (("from", from_), ("to", to)):
            if moment is not None:
                query[key] = iso_text(moment)

        def read(envelope: dict[str, Any]) -> PageList:
            items = envelope.get("data")
            if not isinstance(items, list):
                raise InvalidResponse("The list in the answer is not an array.")
            return PageList.from_payload(items, envelope.get("meta"))

        return self._call(
            "list_pages", "GET", "/page", query=query, size_limit=LIST_SIZE_LIMIT, read=read
        )

    def iterate_pages(
        self,
        *,
        per_page: int = 50,
        from_: Moment | None = None,
        to: Moment | None = None,
    ) -> Iterator[PageResource]:
        """Yield every page once, however the lists overlap (docs/cases.md C58).

        End at an empty list or at one that brings nothing new: a short list is no end, for the
        largest perPage is not shown. After the last one, raise `InvalidResponse` if an item
        could not be read or `MAX_LISTS` did not suffice: who compares must know that the
        listing was not complete.
        """
        seen: set[int] = set()
        skipped: list[SkippedPage] = []
        for number in range(1, MAX_LISTS + 1):
            found = self.list_pages(per_page=per_page, page=number, from_=from_, to=to)
            skipped += found.skipped
            fresh = {page.id: page for page in found.items if page.id not in seen}
            seen.update(fresh)
            yield from fresh.values()
            if not fresh:
                break
        else:
            raise InvalidResponse(f"The listing of pages does not end after {MAX_LISTS} lists.")
        if skipped:
            raise InvalidResponse(f"{len(skipped)} listed pages cannot be read: {skipped[0].why}")

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
        """Change a page; only what is given is sent, save `name`, which the service requires.

        `amount` is in minor units and goes out as an integer (docs/service.md: accepted on update).
        """
        optional = {
            "amount": None if amount is None else minor_units(amount),
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
            # Error reporters copy the variables of every frame: those below hold the key's
            # header and the payer's data. The message says enough.
            failure = error.with_traceback(None)
        raise failure

    def _envelope(
        self, method: str, target: Target, json_body: Mapping[str, Any] | None, size_limit: int
    ) -> dict[str, Any]:
        answer = self._transport.exchange(
            method, target, json_body=json_body, size_limit=size_limit
        )
        return open_envelope(
            answer, unknown_statuses=self._unknown_statuses, clean=self._transport.redacted
        )


def _may_be_done(error: ServiceError) -> bool:
    """Tell whether a write may have been carried out although this error came of it."""
    broken = isinstance(error, InvalidResponse)
    unwell = isinstance(error, ServiceUnavailable) and not isinstance(error, RateLimited)
    return error.maybe_done or broken or (unwell and error.status is not None)
