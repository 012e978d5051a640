"""Checkouts for references that the merchant made, started by a payer's browser.

The interface only says that a payment may start from a popup, a mobile SDK or a redirect; how is
not shown. This double lets a browser start one with the public key alone, which is only seen. Amount and
metadata are therefore the payer's word, and what verify answers later repeats it.
"""

import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from payments_pages.sandbox.payloads import Payload, transaction_payload
from payments_pages.sandbox.state import State, StoredTransaction

__all__ = ["StartRefused", "Starts"]

CURRENCIES = ("ILS", "JOD", "USD")
"""What the service takes (docs/service.md, only seen)."""

REFERENCE = re.compile(r"[A-Za-z0-9._=-]{1,128}")
"""Letters, digits, "-", "." and "=" are only seen (docs/service.md); the length is our decision."""

_DIGITS = 18
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+")


class StartRefused(ValueError):
    """A refusal to start a checkout: an HTTP status, a code for programs, a sentence."""

    def __init__(self, message: str, code: str = "invalid_params", status: int = 400) -> None:
        super().__init__(message)
        self.message, self.code, self.status = message, code, status


class Starts:
    """The checkouts of a state; their pages are below `url`."""

    def __init__(self, state: State, url: str) -> None:
        self._state = state
        self._url = url

    def start(
        self,
        reference: str | None = None,
        *,
        amount: object = None,
        currency: object = None,
        email: object = None,
        metadata: object = "",
        callback_url: object = "",
        origin: str = "",
    ) -> Payload:
        """Record a checkout that nobody has paid yet; return its address, code and reference.

        `amount` is an integer of minor units or its digits; without a currency it is
        the account's, and without a reference a new one is made. Until it is paid, verify answers `abandoned` (known
        fact). A reference can start only one checkout, which can be paid until it is a success. Raise `StartRefused`.
        """
        fields: dict[str, Any] = {
            "amount": _amount(amount),
            "currency": _currency(currency or self._state.account.currency),
            "email": _email(email),
            "metadata": _metadata(metadata),
        }
        callback = _callback(callback_url)
        with self._state.lock:
            reference = self._reference(reference)
            data = transaction_payload(
                reference,
                transaction_id=self._state.next_transaction_id(),
                domain=self._state.account.domain,
                status="abandoned",
                **fields,
            )
            stored = StoredTransaction(
                data=data,
                access_code=self._state.new_access_code(),
                origin=origin if _ORIGIN.fullmatch(origin) else "",
                callback_url=callback,
            )
            self._state.put_transaction(stored)
        return {
            "authorization_url": f"{self._url}/{stored.access_code}",
            "access_code": stored.access_code,
            "reference": reference,
        }

    def check_key(self, key: object) -> None:
        """Raise `StartRefused` unless this is the public key; the secret key is refused, too."""
        account = self._state.account
        received = str(key).encode("utf-8", "replace")
        if received.startswith(b"sk_") or hmac.compare_digest(
            received, account.secret_key.encode()
        ):
            message = "This is a secret key: it stays on your server. Use the public key"
            raise StartRefused(message, "secret_key", 401)
        if not hmac.compare_digest(received, account.browser_key.encode()):
            raise StartRefused("Invalid key", "invalid_key", 401)

    def _reference(self, reference: object) -> str:
        if reference in (None, ""):
            return self._state.new_reference()
        if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
            raise StartRefused("A reference is made of letters, digits, '-', '.' and '='")
        if "_" in reference and self._state.account.refuse_underscores:
            raise StartRefused("A reference has no underscore")
        if self._state.find_transaction(reference) is not None:
            raise StartRefused("Duplicate Transaction Reference", "duplicate_reference")
        return reference


def _amount(value: object) -> int:
    if value in (None, ""):
        raise StartRefused("Amount is required", "missing_params")
    # JSON's true is not a number, but Python's is.
    digits = str(value) if type(value) is int or isinstance(value, str) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS and int(digits)):
        raise StartRefused("Amount is a whole number of minor units above 0")
    return int(digits)


def _currency(value: object) -> str:
    if value not in CURRENCIES:
        raise StartRefused("Currency not supported by merchant")
    return str(value)


def _email(value: object) -> str:
    if value in (None, ""):
        raise StartRefused("Email Address is required", "missing_params")
    name, at, host = value.partition("@") if isinstance(value, str) else ("", "", "")
    if not (name and at and host) or " " in f"{name}{host}":
        raise StartRefused("This is no e-mail address")
    return f"{name}@{host}"


def _metadata(value: object) -> object:
    """Return metadata as it came: text or an object."""
    if value is None:
        return ""
    if not isinstance(value, str | Mapping):
        raise StartRefused("metadata is an object or text")
    return value


def _callback(value: object) -> str:
    if value in (None, ""):
        return ""
    try:
        address = urlsplit(value) if isinstance(value, str) else urlsplit("")
    except ValueError:
        address = urlsplit("")
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise StartRefused("callback_url must be a web address")
    return str(value)
