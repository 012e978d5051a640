"""A running sandbox: in a thread for tests, or for the command that serves a demo."""

import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from payments_pages.sandbox import storage
from payments_pages.sandbox.account import Account
from payments_pages.sandbox.application import (
    API_PATH,
    CHECKOUT_PATH,
    CONTROL_PATH,
    INLINE_PATH,
    PAY_PATH,
    Application,
)
from payments_pages.sandbox.checkouts import Starts
from payments_pages.sandbox.control import PAYER_FIELDS, add_transaction
from payments_pages.sandbox.faults import Faults
from payments_pages.sandbox.http_server import HttpServer
from payments_pages.sandbox.payloads import Payload
from payments_pages.sandbox.payments import Payments
from payments_pages.sandbox.state import RecordedRequest, State
from payments_pages.sandbox.timers import Timers
from payments_pages.sandbox.webhooks import Delivery, Webhooks

__all__ = ["Sandbox"]

POLL_INTERVAL = 0.02


class _Running:
    """The parts that live from start to stop."""

    def __init__(self, host: str, port: int, state: State, faults: Faults) -> None:
        self.timers = Timers()
        self.webhooks = Webhooks(state, self.timers)
        self.server = HttpServer(host, port)
        name = f"[{host}]" if ":" in host else host
        self.origin = f"http://{name}:{self.server.port}"
        self.payments = Payments(state, self.webhooks, self.timers, self.origin + PAY_PATH)
        self.starts = Starts(state, self.origin + CHECKOUT_PATH)
        self.server.application = Application(
            state=state,
            faults=faults,
            webhooks=self.webhooks,
            payments=self.payments,
            starts=self.starts,
            timers=self.timers,
        )
        self.thread = threading.Thread(
            target=self.server.serve_forever,
            args=(POLL_INTERVAL,),
            name="sandbox-server",
            daemon=True,
        )


class Sandbox:
    """A service of one's own: `with Sandbox() as sandbox:` serves until the block ends.

    Every keyword that is not named here is an account setting (see `Account`), such as
    `secret_key`, `currency` or `webhook_url`. `port=0` takes a free port. With a `state_file`
    pages and transactions outlive a restart; settings given here win over those in the file.
    Raise `ValueError` for a wrong setting or file, `OSError` for a port that is taken.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        state_file: Path | str | None = None,
        **account: Any,
    ) -> None:
        self._host = host
        self._port = port
        self.state = State(Account().changed(account))
        self.faults = Faults()
        self._running: _Running | None = None
        if state_file is not None:
            path = Path(state_file)
            storage.load(self.state, path)
            self.state.set_account(account)
            self.state.on_change = lambda state: storage.save(state, path)

    def __repr__(self) -> str:
        """Show the URL, never the key."""
        return f"<Sandbox {self._running.origin if self._running else 'stopped'}>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Self:
        """Serve in a daemon thread, from when this returns."""
        if self._running is None:
            self._running = _Running(self._host, self._port, self.state, self.faults)
            self._running.thread.start()
            self._running.payments.resume()
        return self

    def stop(self) -> None:
        """Stop serving; answers that hang end, connections are closed."""
        running, self._running = self._running, None
        if running is not None:
            self.faults.clear()
            running.server.stop()
            running.timers.stop()
            running.thread.join()

    # Where it is

    @property
    def _live(self) -> _Running:
        if self._running is None:
            raise RuntimeError("Start the sandbox first.")
        return self._running

    @property
    def base_url(self) -> str:
        """Return the address of the API, the `BASE_URL` setting."""
        return self._live.origin + API_PATH

    @property
    def pay_url(self) -> str:
        """Return the address below which pages are served, the `PAY_URL` setting."""
        return self._live.origin + PAY_PATH

    @property
    def control_url(self) -> str:
        """Return the address of the control API."""
        return self._live.origin + CONTROL_PATH

    @property
    def home_url(self) -> str:
        """Return the address of the start page, for a person on the same machine."""
        return f"{self._live.origin}/"

    @property
    def secret_key(self) -> str:
        """Return the key the API asks for."""
        return self.state.account.secret_key

    @property
    def inline_url(self) -> str:
        """Return the address of the script that a merchant's page opens a popup with."""
        return self._live.origin + INLINE_PATH

    @property
    def start_url(self) -> str:
        """Return the address at which a browser starts a checkout."""
        return f"{self._live.origin}{CHECKOUT_PATH}/start"

    @property
    def public_key(self) -> str:
        """Return the key a browser starts a checkout with."""
        return self.state.account.browser_key

    # What the merchant and the payers do

    def set_account(self, **settings: Any) -> None:
        """Change account settings; raise `ValueError` for a wrong one."""
        self.state.set_account(settings)

    def add_page(self, **fields: Any) -> Payload:
        """Put a page straight into the state and return it as a fetch would.

        `amount` is an integer of minor units or None; `slug` is generated, `currency` the
        account's, unless given. `active`, `createdAt` and `updatedAt` may be given as well.
        """
        return self.state.add_page(**{"name": "Tea box", **fields})

    def set_page(self, id_or_slug: str, **fields: Any) -> Payload:
        """Change fields of a page, as in the merchant's dashboard; `KeyError` if unknown."""
        return self.state.change_page(self._page(id_or_slug)["id"], fields)

    def pay(
        self,
        page: str,
        *,
        status: str = "success",
        reference: str | None = None,
        amount: int | None = None,
        late: float | None = None,
        **overrides: Any,
    ) -> str:
        """Record a payment on a page, as if a person paid, and return its reference.

        `page` is an id or slug, `amount` an integer of minor units in place of the page's,
        `late` the seconds until a pending payment succeeds. `email`, `first_name`,
        `last_name` and `phone` are the payer's; other keywords replace transaction fields.
        """
        payer = {name: overrides.pop(name) for name in PAYER_FIELDS if name in overrides}
        transaction = self._live.payments.pay(
            self._page(page),
            status=status,
            reference=reference,
            amount=amount,
            late=late,
            overrides=overrides,
            **payer,
        )
        return str(transaction["reference"])

    def start_checkout(self, reference: str | None = None, **fields: Any) -> Payload:
        """Start a checkout as a browser does; return `authorization_url` and its reference.

        `amount` (minor units), `currency`, `metadata`, `callback_url` and `email`, which is
        there if not given. Raise `ValueError` for what the service refuses.
        """
        return self._live.starts.start(reference, **{"email": "payer@example.test", **fields})

    def end_checkout(
        self, reference: str, *, status: str = "success", late: float | None = None, **fields: Any
    ) -> None:
        """End a started checkout as its payer does; see `pay` for `late` and other fields."""
        self._live.payments.end(reference, status=status, late=late, overrides=fields)

    def add_transaction(self, reference: str, **fields: Any) -> Payload:
        """Record a success that no page led to; fields replace its own, whatever their type."""
        return add_transaction(self.state, reference, fields)

    def set_transaction(self, reference: str, **fields: Any) -> Payload:
        """Replace fields of a transaction; `KeyError` if there is none."""
        return self.state.change_transaction(reference, fields)

    def transaction(self, reference: str) -> Payload | None:
        """Return a transaction as verify would, or None."""
        stored = self.state.find_transaction(reference)
        return None if stored is None else stored.data

    def _page(self, id_or_slug: str) -> Payload:
        page = self.state.find_page(id_or_slug)
        if page is None:
            raise KeyError(id_or_slug)
        return page

    # What came and went

    @property
    def requests(self) -> list[RecordedRequest]:
        """List the latest API requests, oldest first."""
        return self.state.requests()

    def calls(self, method: str, path: str) -> int:
        """Count API requests by method and raw path below `base_url`."""
        return self.state.calls(method, path)

    def verify_calls(self, reference: str | None = None) -> int:
        """Count verify calls, for one reference or in all."""
        return self.state.operation_calls("verify", reference)

    @property
    def deliveries(self) -> list[Delivery]:
        """List the webhooks sent, oldest first."""
        return self._live.webhooks.deliveries

    def send_webhook(
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
        """Send a signed webhook now and return the statuses answered, 0 for no answer.

        See `Webhooks.send` for the options.
        """
        return self._live.webhooks.send(
            url,
            reference,
            event,
            times=times,
            delay=delay,
            at_once=at_once,
            data=data,
            body=body,
            headers=headers,
        )

    def reset(self) -> None:
        """Forget pages, transactions, requests, webhooks, faults and changed settings."""
        self.faults.clear()
        self._live.webhooks.clear()
        self.state.reset()
