"""A state in a file, so that a sandbox can be restarted.

Secrets and the request log are not kept.
"""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from payments_pages.sandbox.state import State, StoredTransaction

__all__ = ["load", "save"]

VERSION = 1


def save(state: State, path: Path) -> None:
    """Write the state in one step: a reader, or a kill, finds the old file or the new one."""
    document = {
        "version": VERSION,
        "account": state.account.public(),
        "pages": state.pages(),
        "transactions": [asdict(stored) for stored in state.transactions()],
    }
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f"{path.name}.", encoding="utf-8", delete=False
    ) as file:
        json.dump(document, file)
    Path(file.name).replace(path)


def load(state: State, path: Path) -> None:
    """Fill a state from a file, if there is one; raise `ValueError` if it is not ours."""
    if not path.exists():
        return
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        _check_version(document["version"])
        account = state.account.changed(document["account"])
        transactions = [StoredTransaction(**stored) for stored in document["transactions"]]
        state.load(document["pages"], transactions)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} does not hold a sandbox's state.") from error
    state.account = account


def _check_version(version: object) -> None:
    if version != VERSION:
        raise ValueError(f"It has version {version!r}, not {VERSION}.")
