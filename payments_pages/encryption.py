"""Encrypt what is stored of a card's code, with the keys of `CARD_KEYS` (extra `cards`).

The newest key encrypts, every key decrypts. The keys are read anew at each call, so that a new one
works without a restart if `CARD_KEYS` is a callable. No error has a key or a code, in its text, in
its context or in the variables of its frames.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from payments_pages.card_codes import CardCode
from payments_pages.conf import conf
from payments_pages.exceptions import UnusableCardKeys, UnusableKey

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

__all__ = [
    "check_card_keys",
    "decrypt_code",
    "encrypt_code",
    "encrypt_with_newest",
    "is_installed",
]

_NO_EXTRA = "Saved cards need the extra `cards`: pip install payments-pages[cards]"
_NO_KEYS = "CARD_KEYS is missing: without a key no card can be saved or read."
_NOT_READ = "CARD_KEYS cannot be read: it is neither texts nor a callable that gives them now."
_OTHER_KEY = "No key of CARD_KEYS reads this card's code: the key that encrypted it was removed."


def encrypt_code(code: CardCode) -> str:
    """Encrypt a code by the newest key; raise `UnusableCardKeys` if there is none."""
    return _encrypt(_ciphers()[0], code)


def decrypt_code(encrypted: str) -> str:
    """Decrypt a stored code; raise `UnusableCardKeys` if no key reads it."""
    for cipher in _ciphers():
        code = _read(cipher, encrypted)
        if code is not None:
            return code.reveal()
    raise UnusableCardKeys(_OTHER_KEY)


def encrypt_with_newest(encrypted: str) -> str | None:
    """Encrypt a stored code anew; None if the newest key has encrypted it already.

    Raise `UnusableCardKeys` if no key reads it.
    """
    newest, *others = _ciphers()
    if _read(newest, encrypted) is not None:
        return None
    for cipher in others:
        code = _read(cipher, encrypted)
        if code is not None:
            return _encrypt(newest, code)
    raise UnusableCardKeys(_OTHER_KEY)


def is_installed() -> bool:
    """Say whether the extra `cards` is installed."""
    return find_spec("cryptography") is not None


def check_card_keys() -> None:
    """Raise `UnusableCardKeys` if no code could be encrypted now."""
    _ciphers()


def _encrypt(cipher: "Fernet", code: CardCode) -> str:
    try:
        return cipher.encrypt(code.reveal().encode()).decode()
    except Exception as error:  # noqa: BLE001 - whatever it is, its frames have the code
        kind = type(error).__name__
    # Outside of the `except`: as its context our error would carry those frames.
    raise UnusableCardKeys(f"The card's code could not be encrypted: {kind}.")


def _read(cipher: "Fernet", encrypted: str) -> CardCode | None:
    """Decrypt by one key; None if it is not the key that encrypted the code."""
    # An optional dependency; here it is installed, for there is a cipher.
    from cryptography.fernet import InvalidToken  # noqa: PLC0415

    try:
        return CardCode(cipher.decrypt(encrypted.encode()).decode())
    except (InvalidToken, UnicodeError):
        return None


def _ciphers() -> "list[Fernet]":
    """Return a cipher for each key, the newest first; there is at least one."""
    try:
        # An optional dependency: the extra `cards`.
        from cryptography.fernet import Fernet  # noqa: PLC0415
    except ImportError:
        raise UnusableCardKeys(_NO_EXTRA) from None
    try:
        keys = conf.card_keys
    except UnusableKey:
        keys, problem = (), _NOT_READ
    else:
        problem = "" if keys else _NO_KEYS
    ciphers = []
    for number, key in enumerate(keys, 1):
        try:
            ciphers.append(Fernet(key))
        except ValueError:
            problem = f"Key {number} of CARD_KEYS is malformed: it is no key of Fernet."
    # Error pages show the variables of each frame: remove the keys. And outside of the `except`:
    # the frames of the first error have a key, too.
    keys = key = ()  # type: ignore[assignment]
    if problem:
        raise UnusableCardKeys(problem)
    return ciphers
