"""Read the merchant's secrets: texts, or callables that fetch them from a vault.

A callable is somebody else's code, and perhaps a network of its own. Whatever it raises or returns
becomes one typed failure that quotes nothing of it: the words of a vault may hold what it keeps.
"""

from collections.abc import Callable, Sequence

from payments_pages.exceptions import UnusableKey

__all__ = ["SecretKey", "SecretKeys", "read_key", "read_key_or_blank", "read_secrets"]

SecretKey = str | Callable[[], str]
SecretKeys = Sequence[str] | SecretKey | Callable[[], Sequence[str]]


def read_key(source: object) -> str:
    """Give the key without surrounding white space; raise `UnusableKey` without quoting it (docs/cases.md C19).

    Asked anew at each call, so that a rotated key works without a restart.
    """
    key = _fetch(source)
    key = key.strip() if isinstance(key, str) else ""
    if key and key.isascii() and key.isprintable() and " " not in key:
        return key
    # Error pages show the variables of each frame.
    del key, source
    raise UnusableKey("The secret key is empty or holds characters that no header can carry.")


def read_key_or_blank(source: object) -> str:
    """Give the key, or "" when it cannot be read: for what only wants to take it out of a text."""
    try:
        return read_key(source)
    except UnusableKey:
        return ""


def read_secrets(source: object) -> tuple[str, ...]:
    """Give the secrets a webhook may be signed with, one or several; blank ones are left out.

    Raise `UnusableKey` if they cannot be read, or are no texts.
    """
    found = _fetch(source)
    if isinstance(found, str):
        found = (found,)
    if isinstance(found, list | tuple) and all(isinstance(secret, str) for secret in found):
        return tuple(filter(None, (secret.strip() for secret in found)))
    del found, source
    raise UnusableKey("The webhook's secrets are no texts.")


def _fetch(source: object) -> object:
    """Call what is a callable; its failure is ours to name, by its class alone."""
    if not callable(source):
        return source
    try:
        return source()
    except Exception as error:  # noqa: BLE001 - it is the merchant's code: it may raise anything
        kind = type(error).__name__
    # Not inside the handler: an error's context would take the vault's words along.
    del source
    raise UnusableKey(f"The secret key could not be read: its callable raised {kind}.")
