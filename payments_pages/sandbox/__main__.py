"""A sandbox as a program, which runs until it is stopped."""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from payments_pages.sandbox.control import is_loopback
from payments_pages.sandbox.server import Sandbox

__all__ = ["Output", "add_arguments", "main", "serve"]

DEFAULT_PORT = 8001
POLL_INTERVAL = 0.2

_ACCOUNT = (
    "secret_key",
    "currency",
    "webhook_url",
    "webhook_header",
    "webhook_algorithm",
    "webhook_secret",
)


class Output(Protocol):
    """A text stream, or another object with its two methods."""

    def write(self, text: str, /) -> object:
        """Write text."""

    def flush(self) -> object:
        """Pass on what was written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; a host off this machine needs `--allow-remote` as well."""
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one")
    parser.add_argument("--allow-remote", action="store_true", help="let other machines in")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep pages and payments here")
    parser.add_argument("--secret-key", help="key the API asks for (default: sk_test_sandbox)")
    parser.add_argument("--currency", help="currency of new pages (default: ILS)")
    parser.add_argument("--webhook-url", help="where to send webhooks (default: nowhere)")
    parser.add_argument("--webhook-header", help="header of their signature")
    parser.add_argument("--webhook-algorithm", help="sha256 or sha512")
    # Never on a command line, which every user of the machine can list.
    parser.set_defaults(webhook_secret=None)


def serve(options: argparse.Namespace, out: Output) -> int:
    """Serve until SIGTERM or SIGINT; return the exit status."""
    if not options.allow_remote and not is_loopback(options.host):
        out.write("Refused: this address is open to others. Add --allow-remote if you mean it.\n")
        return 2
    account = {name: value for name in _ACCOUNT if (value := getattr(options, name)) is not None}
    try:
        sandbox = Sandbox(
            host=options.host, port=options.port, state_file=options.state, **account
        ).start()
    except (OSError, ValueError) as error:
        out.write(f"The sandbox cannot start: {error}\n")
        return 1
    told: list[int] = []
    restore = _on_signals(told)
    try:
        out.write(
            f"Sandbox ready: API {sandbox.base_url}, pages {sandbox.pay_url}/<slug>, "
            f"control {sandbox.control_url}/; what there is: {sandbox.home_url}\n"
        )
        out.flush()
        # No lock: the system may give the signal to another thread, which wakes no waiter.
        while not told:
            time.sleep(POLL_INTERVAL)
    finally:
        sandbox.stop()
        for number, handler in restore.items():
            signal.signal(number, handler)
    return 0


def _on_signals(told: list[int]) -> dict[signal.Signals, Any]:
    """Note SIGTERM and SIGINT in `told`; return the handlers there were before."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may set handlers.
        return {}
    return {
        number: signal.signal(number, lambda number, _frame: told.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }


def main(argv: Sequence[str] | None = None, out: Output | None = None) -> int:
    """Run `python -m payments_pages.sandbox`."""
    parser = argparse.ArgumentParser(
        prog="python -m payments_pages.sandbox",
        description="Serve a double of the payment service. No money moves.",
    )
    add_arguments(parser)
    return serve(parser.parse_args(argv), sys.stdout if out is None else out)


if __name__ == "__main__":
    sys.exit(main())
