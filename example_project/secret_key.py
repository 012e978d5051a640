"""Keep keys out of the repository: one of each kind per machine, in an ignored file."""

import base64
import os
from collections.abc import Callable
from pathlib import Path

from django.core.management.utils import get_random_secret_key

__all__ = ["machine_secret_key", "random_card_key"]


def random_card_key() -> str:
    """Return a new key for the codes of saved cards: 32 random bytes, as Fernet has them."""
    return base64.urlsafe_b64encode(os.urandom(32)).decode()


def machine_secret_key(path: Path, make: Callable[[], str] = get_random_secret_key) -> str:
    """Return the key stored at `path`; make one, readable by its owner only, if there is none.

    Several processes may start at once: the file appears under its name complete or not at
    all, and every one of them reads the key that got there first.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
