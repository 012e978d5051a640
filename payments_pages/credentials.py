"""The merchant's secrets: texts, or callables that fetch them from a vault.

A callable is the merchant's code, and may use a network. Whatever wrong it raises or returns becomes
`UnusableKey`, which quotes nothing of it: the message of a vault may contain the secret.
"""

from collections.abc import Callable, Sequence

from payments_pages.exceptions import UnusableKey

__all__ = ["SecretKey", "SecretKeys", "read_key", "read_key_or_blank", "read_secrets"]

SecretKey = str | Callable[[], str]
SecretKeys = Sequence[str] | SecretKey | Callable[[], Sequence[str]]


def read_key(source: object) -> str:
    """Return the key without surrounding white space; raise `UnusableKey`, which does not quote it (docs/cases.md C19).

    Read anew at each call, so that a rotated key works without a restart.
    """
    key = _fetch(source)
    key = key.strip() if isinstance(key, str) else ""
    if key and key.isascii() and key.isprintable() and " " not in key:
        return key
    # Error pages show the variables of each frame: remove the secret.
    del key, source
    raise UnusableKey("The secret key is empty or holds characters that no header can carry.")


def read_key_or_blank(source: object) -> str:
    """Return the key, or "" if it cannot be read: for callers that only remove it from a text."""
    try:
        return read_key(source)
    except UnusableKey:
        return ""


def read_secrets(source: object) -> tuple[str, ...]:
    """Return the secrets that may sign a webhook, or the keys of saved cards, without blank ones.

    Raise `UnusableKey` if they cannot be read, are not texts, or cannot be written as UTF-8: the
    environment of a process may hold such bytes, and no signature could be computed.
    """
    found = _fetch(source)
    if isinstance(found, str):
        found = (found,)
    if isinstance(found, list | tuple) and all(map(_is_text, found)):
        return tuple(filter(None, (secret.strip() for secret in found)))
    del found, source
    raise UnusableKey("The webhook's secrets are not texts, or not UTF-8.")


def _is_text(secret: object) -> bool:
    """Say whether a secret is a text in UTF-8; in a frame of its own, which ends before an error."""
    if not isinstance(secret, str):
        return False
    try:
        secret.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fetch(source: object) -> object:
    """Call `source` if it is callable; report its failure by exception class only."""
    if not callable(source):
        return source
    try:
        return source()
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        kind = type(error).__name__
    # Outside of the `except`: as its context our error would carry the vault's message.
    del source
    raise UnusableKey(f"The secret key could not be read: its callable raised {kind}.")
