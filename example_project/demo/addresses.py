"""Choose where the demo listens, and say so to every process by environment variables."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["HOST", "SANDBOX_PORT", "SITE_PORT", "Addresses", "PortTakenError", "free_port"]

HOST: Final = "127.0.0.1"
SITE_PORT: Final = 8000
SANDBOX_PORT: Final = 8001
# Not a secret: the sandbox and the shop both know it, and no money moves.
SANDBOX_KEY: Final = "sk_test_sandbox"
PUBLIC_KEY: Final = "pk_test_sandbox"


class PortTakenError(Exception):
    """Say that something listens where the demo wants to."""


# How the sandbox signs.
WEBHOOK_HEADER: Final = "x-lahza-signature"
WEBHOOK_ALGORITHM: Final = "sha256"
# The demo's site is one process: all the calls that many of a real site's would make are its.
MAX_CALLS: Final = 32
# A delivery of the history that fails shall still be failing after days.
MAX_ATTEMPTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Hold the demo's two ports on the loopback interface."""

    site_port: int = SITE_PORT
    sandbox_port: int = SANDBOX_PORT

    @property
    def site(self) -> str:
        """Return the shop's origin."""
        return f"http://{HOST}:{self.site_port}"

    @property
    def sandbox(self) -> str:
        """Return the sandbox's origin."""
        return f"http://{HOST}:{self.sandbox_port}"

    @property
    def control(self) -> str:
        """Return the address of the sandbox's control API."""
        return f"{self.sandbox}/_sandbox"

    def environment(self, database_url: str) -> dict[str, str]:
        """Return the variables that make the settings those of the demo.

        All that could lead to a real service is overwritten: a live key in somebody's `.env`
        must never meet the demo.
        """
        return {
            "DEBUG": "on",
            "ALLOWED_HOSTS": f"{HOST},localhost",
            "SHOP_DEMO": "on",
            "SITE_URL": self.site,
            "SERVICE_URL": self.sandbox,
            "PAYMENTS_SECRET_KEY": SANDBOX_KEY,
            "PAYMENTS_BASE_URL": f"{self.sandbox}/api",
            "PAYMENTS_PAY_URL": f"{self.sandbox}/pay",
            "PAYMENTS_PUBLIC_KEY": PUBLIC_KEY,
            "PAYMENTS_INLINE_URL": f"{self.sandbox}/inline.js",
            "PAYMENTS_START_URL": f"{self.sandbox}/checkout/start",
            "PAYMENTS_MAX_CALLS": str(MAX_CALLS),
            "PAYMENTS_MAX_ATTEMPTS": str(MAX_ATTEMPTS),
            "PAYMENTS_WEBHOOK_HEADER": WEBHOOK_HEADER,
            "PAYMENTS_WEBHOOK_ALGORITHM": WEBHOOK_ALGORITHM,
            "DATABASE_URL": database_url,
        }

    def require_free(self) -> None:
        """Raise `PortTakenError`, naming the way out, if either port cannot be listened on."""
        for port, option in ((self.site_port, "--port"), (self.sandbox_port, "--sandbox-port")):
            if not _is_free(port):
                raise PortTakenError(
                    f"Port {port} on {HOST} is taken, perhaps by another demo. Stop what uses it, "
                    f'or choose another port: make demo ARGS="{option} {free_port()}"'
                )


def free_port() -> int:
    """Return a port on the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        # Where a listener on all interfaces does not stop a bind on one, it answers.
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket() as probe:
        # A port that was in use a moment ago is free: servers set this too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def sqlite_url(path: Path) -> str:
    """Return the `DATABASE_URL` of a SQLite file."""
    return f"sqlite:///{path}"


def is_current(environment: dict[str, str]) -> bool:
    """Tell whether this process already runs with `environment`."""
    return environment.items() <= os.environ.items()
