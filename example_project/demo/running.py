"""Run the demo for a person, until Ctrl-C or until one of its processes ends."""

from collections.abc import Callable

from django.conf import settings
from django.db import connection, connections
from django.urls import reverse

from example_project.delivery import worker_command
from example_project.demo import server
from example_project.demo.addresses import Addresses
from example_project.demo.control import Control
from example_project.demo.history import tell
from example_project.demo.logins import Login, reset_logins
from example_project.demo.parts import MANAGE, Part, Parts
from example_project.demo.stock import stock
from example_project.demo.storage import Storage, UnpairedError

__all__ = ["furnish", "run", "start_sandbox", "start_site"]

Say = Callable[[str], object]


def run(
    addresses: Addresses,
    storage: Storage,
    environment: dict[str, str],
    say: Say,
    *,
    fresh: bool,
    history: bool,
) -> None:
    """Start everything, print where it is, and stay. `history`: the shop gets a past.

    Ends by `KeyboardInterrupt`, or by `PartDiedError` when a process ends by itself; every process
    is stopped either way. Raise `PortTakenError`, `BusyError` or `UnpairedError` before anything has started.
    """
    with storage.locked(), Parts(environment=environment, logs=storage.logs) as parts:
        furnish(parts, addresses, storage, say, fresh=fresh, history=history)
        logins = reset_logins(storage.passwords)
        # This process only watches from here on.
        connections.close_all()
        start_site(parts, addresses)
        parts.start("sweep", [MANAGE, "payments_pages_sweep", "--watch"])
        with storage.announced(_summary(addresses, storage, logins)) as summary:
            say(f"{summary}\n\n  Running; Ctrl-C stops everything.")
            parts.watch()


def furnish(
    parts: Parts, addresses: Addresses, storage: Storage, say: Say, *, fresh: bool, history: bool
) -> None:
    """Start the sandbox and fill the shop: what to sell and, with `history`, what was sold."""
    addresses.require_free()
    say("Preparing the database …")
    storage.prepare(fresh=fresh)
    _start_paired_sandbox(parts, addresses, storage, say)
    control = Control(addresses.control)
    stock(control)
    if history:
        tell(control, storage.logs / "history.log", say)


def start_sandbox(
    parts: Parts, addresses: Addresses, storage: Storage, *, webhook_url: str = ""
) -> Part:
    """Start the service's double on its port and wait until it answers."""
    sandbox = parts.start(
        "sandbox",
        [
            # Not through Django: it is the other side of the wire.
            "-m",
            "payments_pages.sandbox",
            f"--port={addresses.sandbox_port}",
            f"--state={storage.sandbox_state}",
            f"--webhook-url={webhook_url}",
        ],
    )
    parts.wait_until_answers(sandbox, f"{addresses.control}/state")
    return sandbox


def start_site(parts: Parts, addresses: Addresses) -> Part:
    """Start the shop with Django's development server and wait until it answers.

    Where deliveries are queued, start the engine's worker too.
    """
    address = addresses.site.split("//")[1]
    site = parts.start("site", ["-m", server.__name__, "runserver", "--noreload", address])
    parts.wait_until_answers(site, f"{addresses.site}/")
    if (worker := worker_command(getattr(settings, "SHOP_DELIVERY", "inline"), MANAGE)) is not None:
        parts.start("worker", worker)
    return site


def _start_paired_sandbox(parts: Parts, addresses: Addresses, storage: Storage, say: Say) -> None:
    webhook_url = addresses.site + reverse("payments_pages:webhook")
    sandbox = start_sandbox(parts, addresses, storage, webhook_url=webhook_url)
    try:
        storage.require_pair(addresses.control, addresses.site)
    except UnpairedError as mismatch:
        if connection.vendor != "sqlite":
            # Not ours to empty without being told: the address may name anything.
            raise UnpairedError(
                f"{mismatch} Begin anew with make demo ARGS=--fresh: it EMPTIES the database "
                f"{connection.settings_dict['NAME']!r}."
            ) from None
        say(f"{mismatch} Beginning anew; the old files are set aside in {storage.directory}.")
        parts.stop(sandbox)
        storage.begin_anew()
        start_sandbox(parts, addresses, storage, webhook_url=webhook_url)


def _summary(addresses: Addresses, storage: Storage, logins: list[Login]) -> str:
    return "\n".join(
        [
            "",
            f"  Shop      {addresses.site}/",
            f"  Admin     {addresses.site}/admin/",
            "  Logins",
            *(f"    {login:<9} {password:<14} {who}" for login, password, who in logins),
            f"  Sandbox   {addresses.sandbox}/  (no money moves)",
            f"  Logs      {storage.logs}",
        ]
    )
