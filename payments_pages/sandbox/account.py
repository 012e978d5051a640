"""The merchant's settings at the service, and what the sandbox may vary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

__all__ = ["SECRET_SETTINGS", "Account"]

SECRET_SETTINGS = frozenset({"secret_key", "webhook_secret"})
"""Settings that are never listed and never written to a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Settings of the one merchant a sandbox serves; change them with `changed()`.

    `currency` is the currency of pages created from now on (the interface does not say
    how a page's currency is chosen; that the account has it is only seen). `webhook_header` and
    `webhook_algorithm` are only seen, too (docs/service.md); `webhook_secret` blank means the secret key.
    `webhook_delays` are seconds before each repeat of a webhook that got no 2xx.
    `reference_params` are added to a page's `redirect_url`. `metadata` is `""` or
    `"referrer"` (the page's public address in a transaction's metadata: only seen,
    but not promised). `slug_taken_status`, `unknown_reference_status` and `max_per_page`
    (None: no maximum) settle gaps; `late_seconds` is how long "Pay late" stays pending.
    `public_key` is what a browser starts a checkout with; blank means `pk_test_sandbox` or
    `pk_live_sandbox`, by mode. `refuse_underscores` refuses references with one when a
    checkout is started (only seen, of one service; others take them).
    """

    secret_key: str = field(default="sk_test_sandbox", repr=False)
    currency: str = "ILS"
    webhook_url: str = ""
    webhook_header: str = "x-lahza-signature"
    webhook_algorithm: str = "sha256"
    webhook_secret: str = field(default="", repr=False)
    webhook_delays: tuple[float, ...] = (0.5, 2.0)
    reference_params: tuple[str, ...] = ("reference", "trxref")
    metadata: str = ""
    slug_taken_status: int = 400
    unknown_reference_status: int = 404
    max_per_page: int | None = None
    late_seconds: float = 15.0
    public_key: str = ""
    refuse_underscores: bool = False

    @property
    def domain(self) -> str:
        """Return the mode that the key belongs to: `live` for `sk_live_…`, else `test`."""
        return "live" if self.secret_key.startswith("sk_live_") else "test"

    @property
    def signing_secret(self) -> str:
        """Return the secret webhooks are signed with."""
        return self.webhook_secret or self.secret_key

    @property
    def browser_key(self) -> str:
        """Return the public key in force: it may only start checkouts, and is no secret."""
        return self.public_key or f"pk_{self.domain}_sandbox"

    def changed(self, settings: Mapping[str, Any]) -> "Account":
        """Return a copy with some settings changed.

        Raise `ValueError` that names the setting for an unknown name, a wrong type or a value
        outside the choices; the value itself is never quoted, it may be a secret.
        """
        checked: dict[str, Any] = {name: _checked(name, value) for name, value in settings.items()}
        return replace(self, **checked)

    def public(self) -> dict[str, Any]:
        """List the settings without the secrets."""
        return {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in SECRET_SETTINGS
        }


_REQUIRED = frozenset({"secret_key", "currency", "webhook_header"})
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "webhook_algorithm": ("sha256", "sha512"),
    "metadata": ("", "referrer"),
}


def _checked(name: str, value: object) -> object:
    if name not in Account.__dataclass_fields__:
        raise ValueError(f"{name!r} is not a setting of the sandbox's account.")
    if name == "max_per_page" and value is None:
        return None
    if name == "webhook_delays":
        return tuple(_seconds(name, item) for item in _items(name, value))
    if name == "reference_params":
        return tuple(_text(name, item) for item in _items(name, value))
    read = _READERS.get(name, _text)
    return read(name, value)


def _items(name: str, value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} takes a list.")  # noqa: TRY004 - one error type for settings
    return list(value)


def _seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"{name} takes seconds, 0 or more.")
    return float(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is true or false.")  # noqa: TRY004 - one error type for settings
    return value


def _number(name: str, value: object) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} takes a whole number above 0.")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} takes text.")  # noqa: TRY004 - one error type for settings
    if not value.strip() and name in _REQUIRED:
        raise ValueError(f"{name} must not be blank.")
    if value not in _CHOICES.get(name, (value,)):
        raise ValueError(f"{name} takes one of: {', '.join(map(repr, _CHOICES[name]))}.")
    return value


_READERS: Mapping[str, Callable[[str, object], object]] = {
    "late_seconds": _seconds,
    "refuse_underscores": _flag,
    "slug_taken_status": _number,
    "unknown_reference_status": _number,
    "max_per_page": _number,
}
"""How a setting is read that is neither a text nor a list."""
