"""Payments: what happens at the service when a person pays on a page."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from payments_pages.sandbox.payloads import Payload, transaction_payload
from payments_pages.sandbox.state import State, StoredTransaction
from payments_pages.sandbox.timers import Timers
from payments_pages.sandbox.webhooks import Webhooks

__all__ = ["UNPAID", "Payments", "merchants_site", "returning_url"]

UNPAID = frozenset({"failed", "abandoned"})
"""Statuses after which a payment may be taken up again under its reference (docs/service.md, only seen)."""


def returning_url(redirect_url: str, reference: str, names: tuple[str, ...]) -> str:
    """Add the reference to the address a payer returns to, keeping its query and fragment.

    The interface leaves the parameter's name open; the names are the account's.
    """
    parts = urlsplit(redirect_url)
    added = urlencode([(name, reference) for name in names])
    query = f"{parts.query}&{added}" if parts.query else added
    return urlunsplit(parts._replace(query=query))


def merchants_site(address: str | None) -> str:
    """Return the start page of the site that payers return to; blank if there is none."""
    parts = urlsplit(address or "")
    return f"{parts.scheme}://{parts.netloc}/" if parts.scheme in {"http", "https"} else ""


def _with_status(old: Payload, status: str) -> Payload:
    """Build what a transaction becomes when its payer goes on: the same one, another status."""
    kept = ("created_at", "customer", "ip_address", "metadata")
    return transaction_payload(
        old["reference"],
        transaction_id=old["id"],
        domain=old["domain"],
        status=status,
        amount=old["amount"],
        currency=old["currency"],
        email=old["customer"]["email"],
    ) | {name: old[name] for name in kept}


def _can_charge(code: str, stored: StoredTransaction) -> bool:
    card = stored.data["authorization"]
    if stored.data["status"] != "success" or not isinstance(card, Mapping):
        return False
    return card.get("authorization_code") == code and card.get("reusable") is True


class Payments:
    """The payments of a state, each of which is announced by a webhook."""

    def __init__(self, state: State, webhooks: Webhooks, timers: Timers, pay_url: str) -> None:
        self._state = state
        self._webhooks = webhooks
        self._timers = timers
        self._pay_url = pay_url

    def pay(
        self,
        page: Payload,
        *,
        status: str = "success",
        reference: str | None = None,
        amount: int | None = None,
        late: float | None = None,
        custom_values: list[Payload] | None = None,
        overrides: Mapping[str, Any] | None = None,
        twist: Callable[[Payload], Payload] = dict,
        **payer: str | None,
    ) -> Payload:
        """Record a payment on a page and return its transaction.

        `amount` in minor units is needed when the page has none; given for a page that has a
        price, it replaces it. `late` makes the payment pending now and a success after that
        many seconds. A reference that is already there is paid again under the same id, as
        when an abandoned payment is taken up. `overrides` replace fields of the transaction, and
        `twist` changes them by what they are. Raise `ValueError` if there is no amount.
        """
        amount = page["amount"] if amount is None else amount
        if amount is None:
            raise ValueError("This page has no amount; give one, in minor units.")
        with self._state.lock:
            reference = reference or self._state.new_reference()
            earlier = self._state.find_transaction(reference)
            data = transaction_payload(
                reference,
                transaction_id=earlier.data["id"] if earlier else self._state.next_transaction_id(),
                domain=self._state.account.domain,
                status="pending" if late is not None else status,
                amount=amount,
                currency=page["currency"],
                metadata=self._metadata(page, custom_values),
                **{name: value for name, value in payer.items() if value},
            )
            data = twist(data | dict(overrides or {}))
            ripens_at = None if late is None else time.time() + late
            self._state.put_transaction(
                StoredTransaction(data=data, page_id=page["id"], ripens_at=ripens_at)
            )
        if late is not None:
            self._timers.after(late, partial(self.ripen, reference))
        self._webhooks.announce(reference)
        return data

    def ripen(self, reference: str) -> None:
        """Turn a late payment into a success and announce it, unless it was changed since."""
        with self._state.lock:
            stored = self._state.find_transaction(reference)
            if stored is None or stored.ripens_at is None:
                return
            self._state.change_transaction(reference, _with_status(stored.data, "success"))
        self._webhooks.announce(reference)

    def end(
        self,
        reference: str,
        *,
        status: str = "success",
        late: float | None = None,
        overrides: Mapping[str, Any] | None = None,
        twist: Callable[[Payload], Payload] = dict,
    ) -> Payload:
        """End a started checkout, as its payer does, and return its transaction.

        `late`, `overrides` and `twist` are those of `pay`. One that ended unpaid may end again, under the
        same reference (docs/service.md, only seen). Raise `ValueError` if none was started, or it is paid.
        """
        with self._state.lock:
            stored = self._state.find_transaction(reference)
            if stored is None or not stored.access_code:
                raise ValueError(f"No checkout was started for {reference!r}.")
            if stored.data["status"] not in UNPAID:
                raise ValueError(f"The checkout of {reference!r} is paid.")
            data = _with_status(stored.data, "pending" if late is not None else status)
            data = twist(data | dict(overrides or {}))
            ripens_at = None if late is None else time.time() + late
            self._state.put_transaction(replace(stored, data=data, ripens_at=ripens_at))
        if late is not None:
            self._timers.after(late, partial(self.ripen, reference))
        self._webhooks.announce(reference)
        return data

    def pay_again(self, reference: str) -> Payload:
        """Record that a payer paid once more, as in a second tab: all the same, a new reference.

        Raise `ValueError` if there is no such payment.
        """
        with self._state.lock:
            stored = self._state.find_transaction(reference)
            if stored is None:
                raise ValueError(f"There is no payment {reference!r}.")
            data = {
                **stored.data,
                "reference": self._state.new_reference(),
                "id": self._state.next_transaction_id(),
            }
            self._state.put_transaction(StoredTransaction(data=data, page_id=stored.page_id))
        self._webhooks.announce(data["reference"])
        return data

    def charge(
        self, code: str, *, amount: int, currency: str, reference: str | None = None
    ) -> Payload:
        """Charge a card by the code that an earlier payment with it was answered with.

        The interface does not show this operation: this one is the sandbox's own. Raise
        `ValueError` for a code that no reusable card has, or a reference that is there already.
        """
        with self._state.lock:
            earlier = next(filter(partial(_can_charge, code), self._state.transactions()), None)
            if earlier is None:
                raise ValueError("No card that may be charged again has this code.")
            reference = reference or self._state.new_reference()
            if self._state.find_transaction(reference) is not None:
                raise ValueError(f"The reference {reference!r} is there already.")
            data = transaction_payload(
                reference,
                transaction_id=self._state.next_transaction_id(),
                domain=self._state.account.domain,
                amount=amount,
                currency=currency,
            ) | {name: earlier.data[name] for name in ("authorization", "customer")}
            self._state.put_transaction(StoredTransaction(data=data))
        self._webhooks.announce(reference)
        return data

    def resume(self) -> None:
        """Wait again for the late payments that a restart interrupted."""
        for stored in self._state.transactions():
            if stored.ripens_at is not None:
                remaining = max(0.0, stored.ripens_at - time.time())
                self._timers.after(remaining, partial(self.ripen, stored.data["reference"]))

    def _metadata(self, page: Payload, custom_values: list[Payload] | None) -> object:
        """Build a transaction's metadata: `""` (the interface shows it) unless there is some."""
        metadata: Payload = {}
        if self._state.account.metadata == "referrer":
            metadata["referrer"] = f"{self._pay_url}/{quote(page['slug'], safe='')}"
        if custom_values:
            metadata["custom_fields"] = custom_values
        return metadata or ""
