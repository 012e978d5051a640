"""Run a sandbox, a working double of the service, for this site's settings."""

import sys
from argparse import ArgumentParser, Namespace
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError

from payments_pages.conf import conf

__all__ = ["Command"]


class Command(BaseCommand):
    """The command: runs the sandbox until it is stopped."""

    help = (
        "Serve a sandbox: the service's API, its pages and its webhooks, with no money. Port and "
        "test key default to those of PAYMENTS_PAGES, when its BASE_URL is on this machine."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the sandbox's own options, with this site's defaults."""
        _sandbox().add_arguments(parser)
        key = conf.get("SECRET_KEY")
        if isinstance(key, str) and key.startswith("sk_test_"):
            parser.set_defaults(secret_key=key)
        home = urlsplit(str(conf.get("BASE_URL", "")))
        if home.hostname in {"127.0.0.1", "localhost", "::1"} and home.port:
            parser.set_defaults(port=home.port)

    def handle(self, *_args: Any, **options: Any) -> None:
        """Serve; exit with the sandbox's own status."""
        module = _sandbox()
        status = module.serve(Namespace(**options), sys.stdout)
        if status:
            sys.exit(status)


def _sandbox() -> Any:
    try:
        # Inside a function: werkzeug is an optional dependency.
        from payments_pages.sandbox import __main__ as module  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise CommandError("The sandbox needs: pip install payments-pages[sandbox]") from error
    return module
