"""Be many payers: pay, come back, look, come back again, send webhooks, guess references."""

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlencode
from uuid import UUID

import requests

from payments_pages.sandbox import Sandbox
from payments_pages.signatures import sign

__all__ = ["Load"]

WEBHOOK_EVERY, GUESS_EVERY, FAIL_EVERY = 3, 10, 7


@dataclass(slots=True)
class Load:
    """Drive one site from some threads, each with so many payments a second."""

    site: str
    sandbox: Sandbox
    page_token: UUID
    threads: int
    per_second: float
    paid: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _running: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start the payers."""
        for number in range(self.threads):
            thread = threading.Thread(target=self._pay_and_pay, args=(number,), daemon=True)
            thread.start()
            self._running.append(thread)

    def stop(self) -> None:
        """Let each finish what it is at."""
        self._stop.set()
        for thread in self._running:
            thread.join(timeout=60)

    def _pay_and_pay(self, number: int) -> None:
        count = number
        pause = self.threads / self.per_second
        while not self._stop.is_set():
            due = time.monotonic() + pause
            try:
                self._one_payer(count)
            except (requests.RequestException, ValueError) as error:
                with self._lock:
                    self.errors[type(error).__name__] += 1
            count += 1
            self._stop.wait(max(0.0, due - time.monotonic()))

    def _one_payer(self, count: int) -> None:
        # A browser of its own: connections are made and closed as payers come and go.
        with requests.Session() as browser:
            paid = count % FAIL_EVERY != 0
            reference = self.sandbox.pay("soak", status="success" if paid else "failed")
            if paid:
                with self._lock:
                    self.paid.append(reference)
            if count % WEBHOOK_EVERY == 0:
                self._webhook(browser, reference)
            callback = (
                f"/payments/callback/{self.page_token}/?{urlencode({'reference': reference})}"
            )
            landed = self._get(browser, "callback", callback)
            if "/result/" in landed:
                self._get(browser, "status", landed + "status/")
            self._get(browser, "callback again", callback)
            self._post(browser, "confirm", "/payments/confirm/", {"reference": reference})
            if count % GUESS_EVERY == 0:
                self._get(browser, "guess", f"/payments/callback/?reference=GUESS-{reference}")
                self._get(browser, "storefront", "/")

    def _get(self, browser: requests.Session, name: str, path: str) -> str:
        """Return the path that the browser lands on."""
        response = browser.get(self.site + path, timeout=60)
        self._count(name, response)
        return response.url.removeprefix(self.site).split("?")[0]

    def _post(
        self, browser: requests.Session, name: str, path: str, data: dict[str, object]
    ) -> None:
        self._count(name, browser.post(self.site + path, json=data, timeout=60))

    def _webhook(self, browser: requests.Session, reference: str) -> None:
        event = {"event": "charge.success", "data": {"reference": reference}}
        body = json.dumps(event).encode()
        headers = {
            "x-lahza-signature": sign(body, self.sandbox.secret_key, "sha256"),
            "content-type": "application/json",
        }
        response = browser.post(
            f"{self.site}/payments/webhook/", data=body, headers=headers, timeout=60
        )
        self._count("webhook", response)

    def _count(self, name: str, response: requests.Response) -> None:
        with self._lock:
            self.answers[f"{name} {response.status_code}"] += 1
