"""Run a sandbox, a working double of the service, for this site's settings."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS
from django.urls import NoReverseMatch, reverse

from payments_pages.client import is_loopback
from payments_pages.conf import conf
from payments_pages.exceptions import UnusableKey

__all__ = ["Command"]


class Command(BaseCommand):
    """The command: runs the sandbox until it is stopped."""

    help = (
        "Serve a sandbox: the service's API, its pages and its webhooks, with no money. Port, test "
        "key and webhook are those of PAYMENTS_PAGES, where its BASE_URL is on this machine. Pages "
        "and payments are kept in a file beside the database."
    )
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Run; show in words that the extra is missing, which is found before Django would."""
        try:
            super().run_from_argv(argv)
        except CommandError as error:
            self.stderr.write(f"CommandError: {error}")
            sys.exit(error.returncode)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the sandbox's own options, with this site's defaults."""
        _sandbox().add_arguments(parser)
        parser.add_argument("--no-state", action="store_true", help="forget all when it stops")
        parser.set_defaults(**_defaults())

    def handle(self, *_args: Any, **options: Any) -> None:
        """Serve; exit with the sandbox's own status."""
        module = _sandbox()
        if options["no_state"]:
            options["state"] = None
        status = module.serve(Namespace(**options), sys.stdout)
        if status:
            sys.exit(status)


def _sandbox() -> Any:
    try:
        # Inside a function: werkzeug is an optional dependency.
        from payments_pages.sandbox import __main__ as module  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    return module


def _defaults() -> dict[str, object]:
    """Return what the settings say of the service, as far as it is a sandbox on this machine."""
    found: dict[str, object] = {"state": _state_file()}
    key = conf.get("SECRET_KEY")
    if isinstance(key, str) and key.strip().startswith("sk_test_"):
        found["secret_key"] = key.strip()
    base_url = urlsplit(str(conf.get("BASE_URL", "")))
    if is_loopback(base_url.hostname or "") and base_url.port:
        found["port"] = base_url.port
    if conf.webhook_header and conf.webhook_algorithm:
        found["webhook_header"] = conf.webhook_header
        found["webhook_algorithm"] = conf.webhook_algorithm
        found["webhook_secret"] = _webhook_secret()
        found["webhook_url"] = _webhook_url()
    return found


def _webhook_secret() -> str | None:
    """Return the first of `WEBHOOK_SECRETS`; None: webhooks are signed with the secret key."""
    if conf.get("WEBHOOK_SECRETS") is None:
        return None
    try:
        return next(iter(conf.webhook_secrets), None)
    except UnusableKey as error:
        raise CommandError(str(error)) from error


def _webhook_url() -> str | None:
    """Return this site's own webhook; None if it is not known where that is."""
    try:
        return conf.site_url + reverse("payments_pages:webhook") if conf.site_url else None
    except NoReverseMatch:
        return None


def _state_file() -> Path:
    """Return the file for pages and payments: a sandbox that forgot them would number pages anew.

    Beside an SQLite database; in the current folder for another one.
    """
    database = settings.DATABASES[DEFAULT_DB_ALIAS]
    name = Path(str(database.get("NAME") or "sandbox"))
    is_file = str(database.get("ENGINE", "")).endswith("sqlite3") and name.name != ":memory:"
    return name.with_name(f"{name.stem}-sandbox.json") if is_file else Path("sandbox.json")
