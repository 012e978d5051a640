"""Encrypt the codes of saved cards by the newest key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from payments_pages.counts import counted
from payments_pages.exceptions import UnusableCardKeys
from payments_pages.management.progress import Progress
from payments_pages.staff import rekey_cards

__all__ = ["Command"]

_SHOWN = 10
"""Primary keys that the error names."""


class Command(BaseCommand):
    """The command: after it, no saved card needs the older keys of `CARD_KEYS`."""

    help = (
        "Encrypt the codes of all saved cards by the first key of CARD_KEYS. After that the other "
        "keys can be removed from the setting. The old keys and the new one are in use meanwhile: "
        "payments go on. May be stopped at any time and run again. "
        "Exit code 1: there are cards that no key reads."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Do it; print one line."""
        line = Progress(self.stdout)
        try:
            result = rekey_cards(progress=lambda done: line.show(f"{counted(done, 'card')} …"))
        except UnusableCardKeys as error:
            raise CommandError(str(error)) from None
        line.clear()
        self.stdout.write(
            f"Encrypted the codes of {counted(result.changed, 'card')} by the newest key."
        )
        if result.unreadable:
            count, shown = len(result.unreadable), result.unreadable[:_SHOWN]
            named = ", ".join(map(str, shown)) + (", …" if count > _SHOWN else "")
            raise CommandError(
                f"No key of CARD_KEYS reads {counted(count, 'card')} (id {named}). Add the "
                "key that is missing, or forget what cannot be read."
            )
