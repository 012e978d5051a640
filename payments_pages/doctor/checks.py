"""Examinations of the settings by this app's own system checks, those of `--deploy` included."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from django.core.checks import CheckMessage
from django.core.checks.registry import registry

from payments_pages.conf import conf
from payments_pages.confirmation import load_handler
from payments_pages.doctor.findings import Finding, right, warning, wrong
from payments_pages.models import Verification, primary_alias

__all__ = ["complaints", "finding_of", "handler", "settings"]

_OF_HANDLER: Final = frozenset({"E007", "E008", "E030"})
_OF_OTHER_LINES: Final = _OF_HANDLER | {"E005", "E006", "W003", "W006"}
"""Told by the lines handler, mode, transactions and cache."""


def settings() -> Finding:
    """Say what the system checks find, except what other lines tell."""
    databases = [primary_alias(Verification)]
    found = [message for message in _messages(databases) if _code(message) not in _OF_OTHER_LINES]
    return finding_of(found) or right("The system checks of payments_pages find nothing.")


def handler() -> Finding:
    """Say whether the handler can be imported and called with one fulfilment."""
    if complaint := finding_of(complaints(_OF_HANDLER)):
        return complaint
    load_handler()
    how = "in the transaction that marks the delivery" if conf.handler_atomic else "on its own"
    return right(f"{conf.handler} can be called with a fulfilment; it runs {how}.")


def complaints(codes: Collection[str]) -> list[CheckMessage]:
    """Return the messages that have these codes, such as "W003"; the database is not asked."""
    return [message for message in _messages() if _code(message) in codes]


def finding_of(messages: Collection[CheckMessage]) -> Finding | None:
    """Return one finding for all messages; None if there are none."""
    if not messages:
        return None
    seen = " ".join(f"{message.msg} ({message.id})" for message in messages)
    advice = "; ".join(str(message.hint) for message in messages if message.hint)
    make = wrong if any(message.is_serious() for message in messages) else warning
    return make(seen, advice or "See docs/checks.md.")


def _messages(databases: Sequence[str] | None = None) -> Iterator[CheckMessage]:
    """Yield what this app's checks find and the site has not silenced."""
    for check in registry.get_checks(include_deployment_checks=True):
        if check.__module__.startswith("payments_pages."):
            for message in check(app_configs=None, databases=databases):
                if not message.is_silenced():
                    yield message


def _code(message: CheckMessage) -> str:
    return str(message.id).rpartition(".")[2]
