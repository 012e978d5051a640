"""Keep Django's signing key out of the repository: one per machine, in an ignored file."""

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key

__all__ = ["machine_secret_key"]


def machine_secret_key(path: Path) -> str:
    """Return the key stored at `path`; make one, readable by its owner only, if there is none.

    Several processes may start at once: the file appears under its name complete or not at
    all, and every one of them reads the key that got there first.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(get_random_secret_key())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
