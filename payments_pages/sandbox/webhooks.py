"""Webhooks, signed and sent (docs/service.md: Events; their shape is only seen).

A webhook is a POST of `{"event": …, "data": …}`. Its signature is the hex HMAC of the raw
bytes, keyed with the account's signing secret, in the account's header.
"""

import hmac
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import requests

from payments_pages.sandbox.payloads import Payload, encode
from payments_pages.sandbox.state import State, random_text
from payments_pages.sandbox.timers import Timers

__all__ = ["NO_ANSWER", "Delivery", "Webhooks", "sign"]

NO_ANSWER = 0
"""Stands for the status of a webhook that nobody answered."""

TIMEOUT = 5.0


def sign(body: bytes, secret: str, algorithm: str) -> str:
    """Return the hex HMAC of these exact bytes; `algorithm` is `sha256` or `sha512`."""
    return hmac.new(secret.encode(), body, algorithm).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One attempt to send a webhook; `status` is what the merchant's site answered."""

    event: str
    reference: str
    url: str
    attempt: int
    status: int
    time: float = field(default_factory=time.time)


class Webhooks:
    """The webhooks of a state, sent after a success or by hand."""

    def __init__(self, state: State, timers: Timers) -> None:
        self._state = state
        self._timers = timers
        self._deliveries: list[Delivery] = []

    @property
    def deliveries(self) -> list[Delivery]:
        """List what was sent, oldest first."""
        return list(self._deliveries)

    def clear(self) -> None:
        """Forget what was sent."""
        self._deliveries.clear()

    def announce(self, reference: str) -> None:
        """Send `charge.success` in the background if the account has a webhook address.

        Other outcomes are not announced (docs/service.md, only seen). An answer that is not 2xx is followed
        by a repeat after each of the account's `webhook_delays`, then given up.
        """
        account = self._state.account
        stored = self._state.find_transaction(reference)
        if account.webhook_url and stored is not None and stored.data["status"] == "success":
            url, delays = account.webhook_url, account.webhook_delays
            self._timers.after(0, lambda: self._insist(url, reference, delays))

    def _insist(self, url: str, reference: str, delays: tuple[float, ...]) -> None:
        body = self.body("charge.success", reference)
        for attempt, delay in enumerate((0.0, *delays), start=1):
            if not self._timers.wait(delay):
                return
            status = self._post(url, body, {})
            self._note("charge.success", reference, url, attempt, status)
            if 200 <= status < 300:
                return

    def body(self, event: str, reference: str, data: Mapping[str, Any] | None = None) -> bytes:
        """Write the body of an event; `data` is merged over what the event carries.

        `refund.…` events carry `transaction_reference` and the amount as text; every other
        one carries the transaction, or only its reference if there is none.
        """
        stored = self._state.find_transaction(reference)
        found = {"reference": reference} if stored is None else stored.data
        carried = _refund(event, reference, found) if event.startswith("refund.") else found
        return encode({"event": event, "data": {**carried, **(data or {})}})

    def send(
        self,
        url: str,
        reference: str,
        event: str = "charge.success",
        *,
        times: int = 1,
        delay: float = 0.0,
        at_once: bool = False,
        data: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[int]:
        """Send an event now and return the statuses answered, `NO_ANSWER` for none.

        The same bytes go out `times` times, each `delay` seconds after the one before, or all
        `at_once`, from as many threads. `body` replaces the body, `headers` are added to or
        replace the usual ones: a header given as `""` is left out, the signature's too. For
        webhooks out of order, send them in the order you want. No repeats on failure.
        """
        content = self.body(event, reference, data) if body is None else body
        extra = dict(headers or {})

        def post(attempt: int) -> int:
            if delay and not at_once:
                self._timers.wait(delay)
            status = self._post(url, content, extra)
            self._note(event, reference, url, attempt, status)
            return status

        with ThreadPoolExecutor(max_workers=times if at_once else 1) as pool:
            return list(pool.map(post, range(1, times + 1)))

    def _post(self, url: str, body: bytes, extra: Mapping[str, str]) -> int:
        account = self._state.account
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "payments-pages-sandbox",
            account.webhook_header: sign(body, account.signing_secret, account.webhook_algorithm),
        }
        headers = {name: value for name, value in {**headers, **extra}.items() if value}
        with requests.Session() as session:
            # A proxy or .netrc of the machine must not change what is sent.
            session.trust_env = False
            try:
                answer = session.post(
                    url, data=body, headers=headers, timeout=TIMEOUT, allow_redirects=False
                )
            except requests.RequestException:
                return NO_ANSWER
        return answer.status_code

    def _note(self, event: str, reference: str, url: str, attempt: int, status: int) -> None:
        self._deliveries.append(
            Delivery(event=event, reference=reference, url=url, attempt=attempt, status=status)
        )


def _refund(event: str, reference: str, transaction: Mapping[str, Any]) -> Payload:
    return {
        "status": event.removeprefix("refund."),
        "transaction_reference": reference,
        "refund_reference": random_text(16),
        "amount": str(transaction.get("amount", 0)),
        "currency": transaction.get("currency", ""),
        "customer": transaction.get("customer"),
        "domain": transaction.get("domain", ""),
    }
