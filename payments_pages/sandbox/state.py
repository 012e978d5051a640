"""What the service would store: pages, transactions, settings, and who called.

Everything is in memory, safe for threads, and copied on write: a payload that was handed out
is never changed afterwards, so answers are written without holding the lock.
"""

import random
import string
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from payments_pages.sandbox.account import Account
from payments_pages.sandbox.payloads import Payload, iso, page_payload

__all__ = ["RecordedRequest", "SlugTakenError", "State", "StoredTransaction", "random_text"]

REQUEST_LOG_LENGTH = 10_000
FIRST_PAGE_ID = 18
FIRST_TRANSACTION_ID = 690_075_001

_LETTERS = string.ascii_letters + string.digits
_random = random.SystemRandom()


class SlugTakenError(ValueError):
    """A slug that another page already has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """One request to the API, as it came, without its Authorization header.

    `path` is the raw target below `base_url`, still percent-encoded; `query` is raw too.
    `operation` and `key` (slug, id or reference, decoded) are blank for an unknown path.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    operation: str = ""
    key: str = ""
    time: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTransaction:
    """A transaction with what the service knows of it but does not tell.

    `ripens_at` (epoch seconds) is when a payment that is late becomes a success. A checkout
    that a browser started has an `access_code`, which leads to its page; the web `origin` it
    was started from, blank if there was none; and perhaps a `callback_url`.
    """

    data: Payload
    page_id: int | None = None
    ripens_at: float | None = None
    access_code: str = ""
    origin: str = ""
    callback_url: str = ""


def random_text(length: int) -> str:
    """Draw letters and digits, as in generated slugs and references."""
    return "".join(_random.choices(_LETTERS, k=length))


def _unused(taken: Container[str], length: int) -> str:
    drawn = iter(partial(random_text, length), "")
    return next(text for text in drawn if text not in taken)


class State:
    """The service's memory. `on_change` is called, under the lock, after every change."""

    def __init__(self, account: Account) -> None:
        self.lock = threading.RLock()
        self.account = account
        self.on_change: Callable[[State], None] = lambda _state: None
        self._initial_account = account
        self._pages: dict[int, Payload] = {}
        # Not the number of pages: after one is deleted, no id is used twice.
        self._last_page_id = FIRST_PAGE_ID - 1
        self._slugs: dict[str, int] = {}
        self._transactions: dict[str, StoredTransaction] = {}
        self._access_codes: dict[str, str] = {}
        self._requests: deque[RecordedRequest] = deque(maxlen=REQUEST_LOG_LENGTH)
        self._by_path: Counter[tuple[str, str]] = Counter()
        self._by_key: Counter[tuple[str, str]] = Counter()

    def set_account(self, settings: Mapping[str, Any]) -> Account:
        """Change some account settings; raise `ValueError` for a wrong one."""
        with self.lock:
            self.account = self.account.changed(settings)
            self.on_change(self)
            return self.account

    def reset(self) -> None:
        """Forget pages, transactions, requests and changed settings."""
        with self.lock:
            self.account = self._initial_account
            self._last_page_id = FIRST_PAGE_ID - 1
            for store in (self._pages, self._slugs, self._transactions, self._access_codes):
                store.clear()
            self._requests.clear()
            self._by_path.clear()
            self._by_key.clear()
            self.on_change(self)

    # Pages

    def pages(self) -> list[Payload]:
        """List the pages, newest first (the interface does not promise it; only seen, docs/service.md)."""
        with self.lock:
            return [self._pages[page_id] for page_id in sorted(self._pages, reverse=True)]

    def find_page(self, id_or_slug: str) -> Payload | None:
        """Find a page by its id or its slug; the slug is compared exactly.

        A text of digits is taken for an id first (our decision: the interface leaves open
        what a slug made of digits means).
        """
        with self.lock:
            if id_or_slug.isascii() and id_or_slug.isdigit() and len(id_or_slug) < 20:
                page = self._pages.get(int(id_or_slug))
                if page is not None:
                    return page
            return self.page_by_slug(id_or_slug)

    def page_by_slug(self, slug: str) -> Payload | None:
        """Find the page served at a slug."""
        page_id = self._slugs.get(slug)
        return None if page_id is None else self._pages.get(page_id)

    def add_page(self, *, slug: str | None = None, **values: Any) -> Payload:
        """Create a page; raise `SlugTakenError` if the slug is another page's.

        `values` are those of `page_payload`, and `createdAt` and `updatedAt`; the currency is
        the account's unless given. Raise `TypeError` for others.
        """
        stamps = {name: values.pop(name) for name in ("createdAt", "updatedAt") if name in values}
        with self.lock:
            slug = _unused(self._slugs, 9) if slug is None else slug
            values.setdefault("currency", self.account.currency)
            page_id = self._last_page_id + 1
            values |= {"page_id": page_id, "slug": slug, "domain": self.account.domain}
            page = self._put_page(page_payload(**values) | stamps)
            self._last_page_id = page_id
            return page

    def change_page(self, page_id: int, values: Mapping[str, Any]) -> Payload:
        """Change fields of a page and its `updatedAt`.

        Raise `KeyError` if there is none, `SlugTakenError` for the slug of another.
        """
        with self.lock:
            stamped = {"updatedAt": iso(datetime.now(UTC)), **values, "id": page_id}
            return self._put_page({**self._pages[page_id], **stamped})

    def forget_page(self, page_id: int) -> Payload:
        """Lose a page and return it; raise `KeyError` if there is none.

        The interface deletes no page; a merchant's mirror must bear it all the same when one is
        no longer listed (another account's key, a page that the service withdrew).
        """
        with self.lock:
            page = self._pages.pop(page_id)
            del self._slugs[page["slug"]]
            self.on_change(self)
            return page

    def _put_page(self, page: Payload) -> Payload:
        if self._slugs.get(page["slug"], page["id"]) != page["id"]:
            raise SlugTakenError(f"Another page has the slug {page['slug']!r}.")
        earlier = self._pages.get(page["id"])
        if earlier is not None:
            del self._slugs[earlier["slug"]]
        self._pages[page["id"]] = page
        self._slugs[page["slug"]] = page["id"]
        self.on_change(self)
        return page

    # Transactions

    def transactions(self) -> list[StoredTransaction]:
        """List the transactions, oldest first."""
        with self.lock:
            return list(self._transactions.values())

    def find_transaction(self, reference: str) -> StoredTransaction | None:
        """Find a transaction by its exact reference."""
        return self._transactions.get(reference)

    def find_checkout(self, access_code: str) -> StoredTransaction | None:
        """Find a started checkout by its access code."""
        stored = self._transactions.get(self._access_codes.get(access_code, ""))
        return stored if stored is not None and stored.access_code == access_code else None

    def new_access_code(self) -> str:
        """Draw an access code nobody has."""
        return _unused(self._access_codes, 20)

    def new_reference(self) -> str:
        """Draw a reference nobody has."""
        return _unused(self._transactions, 16)

    def next_transaction_id(self) -> int:
        """Return the id the next transaction will have."""
        with self.lock:
            return FIRST_TRANSACTION_ID + len(self._transactions)

    def put_transaction(self, stored: StoredTransaction) -> None:
        """Store a transaction under its reference, in place of any other."""
        with self.lock:
            self._keep(stored)
            self.on_change(self)

    def _keep(self, stored: StoredTransaction) -> None:
        self._transactions[stored.data["reference"]] = stored
        if stored.access_code:
            self._access_codes[stored.access_code] = stored.data["reference"]

    def change_transaction(self, reference: str, values: Mapping[str, Any]) -> Payload:
        """Replace fields of a transaction; raise `KeyError` if there is none.

        What was going to ripen no longer does: the new fields are the last word.
        """
        with self.lock:
            stored = self._transactions.get(reference)
            if stored is None:
                raise KeyError(f"There is no transaction {reference!r}.")
            data = {**stored.data, **values, "reference": reference}
            self._transactions[reference] = replace(stored, data=data, ripens_at=None)
            self.on_change(self)
            return data

    # Requests

    def record(self, request: RecordedRequest) -> None:
        """Remember a request; the counts are exact, the log keeps the latest ones."""
        with self.lock:
            self._requests.append(request)
            self._by_path[request.method, request.path] += 1
            if request.operation:
                self._by_key[request.operation, request.key] += 1

    def requests(self) -> list[RecordedRequest]:
        """List the latest requests, oldest first."""
        with self.lock:
            return list(self._requests)

    def calls(self, method: str, path: str) -> int:
        """Count the requests with this method and raw path below `base_url`."""
        return self._by_path[method, path]

    def operation_calls(self, operation: str, key: str | None = None) -> int:
        """Count the calls of an operation, for one slug, id or reference or for all."""
        with self.lock:
            if key is not None:
                return self._by_key[operation, key]
            return sum(n for (name, _key), n in self._by_key.items() if name == operation)

    def load(self, pages: Iterable[Payload], transactions: Iterable[StoredTransaction]) -> None:
        """Fill an empty memory, as after a restart."""
        with self.lock:
            for page in pages:
                self._pages[page["id"]] = page
                self._slugs[page["slug"]] = page["id"]
                self._last_page_id = max(self._last_page_id, page["id"])
            for stored in transactions:
                self._keep(stored)
