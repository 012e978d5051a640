"""Run the demo: `manage.py demo`, or `make demo`, which sets everything up before it."""

import os
import re
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from example_project.demo.addresses import (
    SANDBOX_PORT,
    SITE_PORT,
    Addresses,
    PortTakenError,
    free_port,
    is_current,
    sqlite_url,
)
from example_project.demo.once import StoryError, run_once
from example_project.demo.parts import MANAGE, ROOT, PartDiedError, interruptible
from example_project.demo.running import run
from example_project.demo.storage import BusyError, Storage, UnpairedError

__all__ = ["Command"]


class Command(BaseCommand):
    """Start sandbox, site and sweep, or drive one purchase through all of them and check it."""

    help = "Run the shop and its sandbox on this machine."
    # The environment of the demo is not set yet when checks would run.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the mode and the ports."""
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument(
            "--once",
            action="store_true",
            help="buy once over HTTP in a fresh database, check that it is delivered once, end",
        )
        mode.add_argument(
            "--fresh",
            action="store_true",
            help="begin anew: old files are set aside, a server's database is emptied",
        )
        parser.add_argument(
            "--no-history",
            action="store_false",
            dest="history",
            help="sell nothing beforehand: only what you do yourself is in the admin",
        )
        parser.add_argument(
            "--port",
            type=int,
            default=os.environ.get("DEMO_PORT", SITE_PORT),
            help="the shop's port (or the variable DEMO_PORT; default %(default)s)",
        )
        parser.add_argument(
            "--sandbox-port",
            type=int,
            default=os.environ.get("DEMO_SANDBOX_PORT", SANDBOX_PORT),
            help="the sandbox's port (or DEMO_SANDBOX_PORT; default %(default)s)",
        )

    def handle(self, **options: Any) -> None:
        """Begin again with the demo's own environment, then run; failures exit non-zero."""
        addresses = Addresses(site_port=options["port"], sandbox_port=options["sandbox_port"])
        try:
            with interruptible():
                if options["once"]:
                    self._once(addresses)
                else:
                    self._stay(addresses, fresh=options["fresh"], history=options["history"])
        except BusyError as error:
            if options["fresh"] or not error.summary:
                raise CommandError(str(error)) from error
            self.stdout.write(f"The demo is running already.\n{error.summary}")
        except (PortTakenError, UnpairedError, PartDiedError, StoryError) as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(f"The database cannot be used: {error}".strip()) from error
        except KeyboardInterrupt:
            self.stdout.write("\nStopped.")

    def _stay(self, addresses: Addresses, *, fresh: bool, history: bool) -> None:
        storage = Storage(_directory(addresses, _chosen_database()))
        environment = addresses.environment(_chosen_database() or sqlite_url(storage.database))
        _begin_with(environment)
        run(addresses, storage, environment, self.stdout.write, fresh=fresh, history=history)

    def _once(self, addresses: Addresses) -> None:
        if not is_current({"DEMO_ONCE": "yes"}):
            addresses = Addresses(site_port=free_port(), sandbox_port=free_port())
            environment = addresses.environment(_chosen_database()) | {
                "DEMO_ONCE": "yes",
                "DEMO_PORT": str(addresses.site_port),
                "DEMO_SANDBOX_PORT": str(addresses.sandbox_port),
            }
            _begin_with(environment)
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            run_once(addresses, Storage(Path(directory)), self.stdout.write)


def _chosen_database() -> str:
    """Return the address of a database server somebody chose, by variable or `.env`, or ""."""
    url = os.environ.get("DATABASE_URL", "")
    return "" if url.startswith("sqlite:") else url


def _directory(addresses: Addresses, server: str) -> Path:
    """Return where the demo keeps its files: a directory for each port and database server.

    Pages remember the address payers come back to, and the sandbox's memory belongs to one
    database: another port or server is another pair.
    """
    directory = ROOT / "var"
    if server:
        parts = urlsplit(server)
        name = f"{parts.scheme}-{parts.hostname}-{parts.port or ''}{parts.path}"
        directory /= re.sub(r"[^A-Za-z0-9.]+", "-", name)
    if addresses.site_port != SITE_PORT:
        directory /= f"port-{addresses.site_port}"
    return directory


def _begin_with(environment: dict[str, str]) -> None:
    """Replace this process by one whose settings were read from `environment`.

    Settings are read once, at a process's start. Return if that has been done already.
    """
    if is_current(environment):
        return
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, MANAGE, *sys.argv[1:]], os.environ | environment)
