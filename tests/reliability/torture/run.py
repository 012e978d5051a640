"""Build a run, let it rage, finish it, judge it and print its table."""

import importlib
import json
import logging
import os
import socket
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command

from payments_pages.sandbox import Sandbox
from tests.reliability.torture.chaos import AHEAD, Chaos, Nursery
from tests.reliability.torture.plan import PRICE, payment
from tests.reliability.torture.servers import Server, server_for
from tests.reliability.torture.site import listen

__all__ = ["Options", "run"]

SECRET_KEY = "sk_test_torture"
SWEEPS = 2
VISITORS = 4
CONSUMERS = 2
SERVICES = 2
"""Processes that send the service's notices."""
SLOWEST_RESTARTS = 4
"""A run is cut into so many parts by kills of the database, or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for on the command line, and the folder of the run."""

    folder: Path
    seconds: float
    database: str
    handler: str
    control: str | None
    door: str
    delivery: str
    workers: int
    threads: int
    rate: float
    seed: int

    @property
    def roles(self) -> list[str]:
        """Name what each process of the run is, to begin with."""
        doors = ["door"] * self.workers
        if self.door == "http":
            doors = ["site"] * self.workers + ["visitor"] * VISITORS
        consumers = ["consumer"] * CONSUMERS if self.delivery == "queued" else []
        service = "service-http" if self.door == "http" else "service"
        return doors + consumers + [service] * SERVICES + ["sweep"] * SWEEPS

    @property
    def way(self) -> str:
        """Say in a few words what is put to the test."""
        ways = [self.control or self.handler]
        if self.door == "http":
            ways.append("http")
        if self.delivery == "queued":
            ways.append("queued")
        return ", ".join(ways)


def run(options: Options) -> int:
    """Run once; the exit status. Everything that was started is ended, whatever happens."""
    server = server_for(options.database, options.folder)
    nursery: Nursery | None = None
    with listen() as listener, Sandbox(secret_key=SECRET_KEY, currency="ILS") as sandbox:
        try:
            server.start()
            token = str(uuid.uuid4())
            remote = sandbox.add_page(name="Tea box", slug="tea-box", amount=PRICE)
            began = time.time() + 3
            _set_up(options, server, sandbox, listener, token=token, began=began, remote=remote)
            nursery = Nursery(listener)
            for role in options.roles:
                nursery.spawn(role)
            chaos = Chaos(
                nursery=nursery,
                server=server,
                sandbox=sandbox,
                seed=options.seed,
                token=token,
                began=began,
                rate=options.rate,
                kill_database_every=min(12.0, options.seconds / SLOWEST_RESTARTS),
            )
            time.sleep(max(0.0, began - time.time()))
            chaos.rage(options.seconds)
            nursery.end()
            judge = importlib.import_module(
                "tests.reliability.torture.judging"
            ).judge  # it needs the models
            return int(judge(options, chaos))
        finally:
            if nursery is not None:
                nursery.end()
            server.stop()


def _set_up(
    options: Options,
    server: Server,
    sandbox: Sandbox,
    listener: socket.socket,
    *,
    token: str,
    began: float,
    remote: dict[str, Any],
) -> None:
    """Hand the run's settings on to all its processes, and make the tables and the page."""
    os.environ["TORTURE"] = json.dumps(
        {
            "database": server.settings,
            "folder": str(options.folder),
            "secret_key": SECRET_KEY,
            "base_url": sandbox.base_url,
            "pay_url": sandbox.pay_url,
            "handler": options.handler,
            "control": options.control,
            "delivery": options.delivery,
            "listener": listener.fileno(),
            "site": "http://{}:{}".format(*listener.getsockname()),
            "threads": options.threads,
            "seed": options.seed,
            "token": token,
            "rate": options.rate,
            "began": began,
            "until": began + options.seconds + 60,
        }
    )
    for name in ("messages", "notices"):
        (options.folder / name).mkdir()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.reliability.torture.settings"
    logging.disable(logging.CRITICAL)
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    pages = importlib.import_module("payments_pages.models").PaymentPage.objects
    pages.create(
        remote_id=remote["id"],
        token=token,
        name="Tea box",
        slug="tea-box",
        slug_key=importlib.import_module("payments_pages.pages.slugs").slug_key("tea-box"),
        amount=PRICE,
        currency="ILS",
        domain="test",
    )
    if (
        options.control
        not in importlib.import_module("tests.reliability.torture.controls").CONTROLS
    ):
        many = int((options.seconds + AHEAD) * options.rate) + 2
        payments = [payment(options.seed, number, token) for number in range(many)]
        importlib.import_module("tests.reliability.torture.ageing").grow_old(
            payments, sandbox, token
        )
    importlib.import_module("tests.reliability.torture.history").keep_history()
    sys.stdout.write(f"torture: {options.database}, {options.way}\n")
