"""Keep the shop's database and the sandbox's state together: two halves of one memory."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import requests
from django.core.management import call_command
from django.db import connection, connections

from payments_pages.models import PaymentPage

__all__ = ["BusyError", "Storage", "UnpairedError"]


class BusyError(Exception):
    """Say that another demo uses the same files; `summary` is what it printed, blank before."""

    def __init__(self, summary: str) -> None:
        super().__init__("Another demo runs on the same files. Stop it first.")
        self.summary = summary


class UnpairedError(Exception):
    """Say that shop and sandbox remember different pages, and what to do."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Name the demo's files in one ignored directory."""

    directory: Path

    @property
    def database(self) -> Path:
        """Return the SQLite file; unused when `DATABASE_URL` names a server."""
        return self.directory / "shop.sqlite3"

    @property
    def sandbox_state(self) -> Path:
        """Return the file in which the sandbox keeps its pages and payments."""
        return self.directory / "sandbox.json"

    @property
    def logs(self) -> Path:
        """Return the directory of what the processes print."""
        return self.directory / "log"

    @property
    def passwords(self) -> Path:
        """Return the file that keeps the passwords of the demo's logins."""
        return self.directory / "logins.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the files for one demo; raise `BusyError` at once if another has them."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "demo.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BusyError(self._announced()) from None
            # What a demo left that was killed.
            self._summary.unlink(missing_ok=True)
            yield

    @contextlib.contextmanager
    def announced(self, summary: str) -> Iterator[str]:
        """Keep where a running demo is, for whoever starts a second one, inside the block."""
        # It holds passwords.
        self._summary.touch(mode=0o600)
        self._summary.write_text(summary, encoding="utf-8")
        try:
            yield summary
        finally:
            self._summary.unlink(missing_ok=True)

    @property
    def _summary(self) -> Path:
        return self.directory / "running.txt"

    def _announced(self) -> str:
        try:
            return self._summary.read_text(encoding="utf-8")
        except OSError:
            return ""

    def prepare(self, *, fresh: bool) -> None:
        """Migrate the database, and see that no half of the memory stands alone.

        `fresh` begins anew on request. A sandbox that remembers pages of a shop that remembers
        none is set aside: its slugs would be taken and nothing would lead to them.
        """
        if fresh:
            self.begin_anew()
        call_command("migrate", verbosity=0, interactive=False)
        if not PaymentPage.objects.exists():
            self._set_aside(self.sandbox_state)

    def begin_anew(self) -> None:
        """Empty both halves: files are set aside, never deleted; a server's database is flushed.

        The sandbox must not run meanwhile.
        """
        files = [self.sandbox_state]
        if connection.vendor == "sqlite":
            connections.close_all()
            name = connection.settings_dict["NAME"]
            files += [Path(f"{name}{suffix}") for suffix in ("", "-wal", "-shm")]
        self._set_aside(*files)
        call_command("migrate", verbosity=0, interactive=False)
        if connection.vendor != "sqlite":
            call_command("flush", verbosity=0, interactive=False)

    def require_pair(self, control: str, site: str) -> None:
        """Raise `UnpairedError` if the shop knows a page that the running sandbox does not.

        Pages that a sync has found missing are known to be.
        Also when a page sends its payers back to another origin than `site`: that address
        cannot be changed afterwards (interface: Update page).
        """
        answer = requests.get(f"{control}/state", timeout=5)
        answer.raise_for_status()
        known = {(page["id"], page["slug"]) for page in answer.json()["pages"]}
        for page in PaymentPage.objects.confirmed().filter(missing_since__isnull=True):
            if (page.remote_id, page.slug) not in known:
                raise UnpairedError(f"The sandbox does not know the shop's page {page.slug!r}.")
            if (
                page.made_here
                and page.redirect_url
                and not page.redirect_url.startswith(f"{site}/")
            ):
                raise UnpairedError(f"The page {page.slug!r} does not lead back to {site}.")

    def _set_aside(self, *files: Path) -> None:
        present = [file for file in files if file.exists()]
        if not present:
            return
        aside = self.directory / f"set-aside-{time.strftime('%Y%m%d-%H%M%S')}"
        aside.mkdir(exist_ok=True)
        for file in present:
            shutil.move(file, aside / file.name)
