"""The settings dict `PAYMENTS_PAGES`, with a typed property for each key.

What the dict leaves out comes from the preset that `SERVICE` names, and then from the defaults
here. Every access reads Django's settings anew, so that `override_settings` works. A required key that
is missing raises `ConfigurationError` where it is used; `manage.py check` reports it before that.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.conf import settings
from django.utils.module_loading import import_string

from payments_pages.choices import Mode
from payments_pages.credentials import SecretKey, SecretKeys, read_key, read_secrets
from payments_pages.exceptions import ConfigurationError
from payments_pages.limits import DEFAULT_LIMITS, Limits
from payments_pages.money import EXPONENTS
from payments_pages.presets import PRESETS

__all__ = [
    "DELIVERIES",
    "KEYS",
    "Configuration",
    "conf",
    "load_function",
]

DELIVERIES = ("inline", "queued")


KEYS = frozenset(
    {
        "ATTRIBUTION",
        "BACKOFF",
        "BASE_URL",
        "CACHE",
        "CARD_KEYS",
        "CA_BUNDLE",
        "CONNECT_TIMEOUT",
        "CURRENCIES",
        "DEADLINE",
        "DELIVERY",
        "HANDLER",
        "HANDLER_ATOMIC",
        "LEASE",
        "MAX_ATTEMPTS",
        "MAX_CALLS",
        "MERCHANT",
        "MODE",
        "NOTIFY",
        "NUDGE",
        "OVERDUE",
        "PAY_URL",
        "PROXY",
        "READ_TIMEOUT",
        "REFERENCE_PARAMS",
        "REFERENCE_PATTERN",
        "RESULT_CSP",
        "RESULT_VIEW",
        "SAVE_CARD",
        "SECRET_KEY",
        "SERVICE",
        "SITE_URL",
        "UNKNOWN_IN_ALL",
        "UNKNOWN_PER_ADDRESS",
        "UNKNOWN_STATUSES",
        "WEBHOOK_ALGORITHM",
        "WEBHOOK_HEADER",
        "WEBHOOK_SECRETS",
    }
)


class Configuration:
    """Each setting as a property, with its default."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return the raw value of a key: as set, as the preset has it, or the default."""
        own: Mapping[str, Any] = getattr(settings, "PAYMENTS_PAGES", {})
        return own[key] if key in own else _preset(own).get(key, default)

    def _required(self, key: str) -> Any:
        value = self.get(key)
        if value in (None, ""):
            raise ConfigurationError(
                f"PAYMENTS_PAGES[{key!r}] is missing: `manage.py check` says what to write."
            )
        return value

    @property
    def secret_key(self) -> SecretKey:
        """Return the key, text or callable, unread: only the client opens it."""
        key: SecretKey = self._required("SECRET_KEY")
        return key

    @property
    def base_url(self) -> str:
        """Return the API's address without a trailing slash."""
        return str(self._required("BASE_URL")).rstrip("/")

    @property
    def pay_url(self) -> str:
        """Return the address under which pages are public, without a trailing slash."""
        return str(self._required("PAY_URL")).rstrip("/")

    @property
    def mode(self) -> str:
        """Return `"test"` or `"live"`: as set, or by the key's prefix.

        Raise `UnusableKey` when only the key could tell, and it cannot be read.
        """
        mode = self.get("MODE")
        if mode is None:
            mode = self.mode_of_key
        if mode not in Mode.values:
            raise ConfigurationError('PAYMENTS_PAGES["MODE"] must be "test" or "live".')
        return str(mode)

    @property
    def mode_of_key(self) -> str | None:
        """Return the mode that the key's prefix names, or None; raise `UnusableKey` without a key."""
        return _mode_by_prefix(self.secret_key)

    @property
    def mode_or_blank(self) -> str:
        """Return the mode, or "" while it cannot be told: for what only shows it to staff."""
        try:
            return self.mode
        except ConfigurationError:
            return ""

    @property
    def site_url(self) -> str:
        """Return this site's own origin without a trailing slash, or "" when it is not set."""
        return str(self.get("SITE_URL", "") or "").rstrip("/")

    @property
    def handler(self) -> str:
        """Return the dotted path of the merchant's function."""
        return str(self._required("HANDLER"))

    @property
    def handler_atomic(self) -> bool:
        """Return whether the handler runs in the transaction that marks the delivery."""
        return bool(self.get("HANDLER_ATOMIC", True))

    @property
    def delivery(self) -> str:
        """Return `"inline"`: a door delivers by itself; or `"queued"`: it leaves that to a worker."""
        delivery = str(self.get("DELIVERY", "inline"))
        if delivery not in DELIVERIES:
            raise ConfigurationError('PAYMENTS_PAGES["DELIVERY"] must be "inline" or "queued".')
        return delivery

    @property
    def nudge(self) -> str:
        """Return the dotted path of what sends a reference to a worker; "" when there is none."""
        return str(self.get("NUDGE", "") or "")

    @property
    def result_view(self) -> str:
        """Return the name of the view a payer is sent to; it gets `token`."""
        return str(self.get("RESULT_VIEW", "payments_pages:result"))

    @property
    def result_csp(self) -> bool:
        """Return whether payers' pages may have a content security policy of ours."""
        return bool(self.get("RESULT_CSP", True))

    @property
    def reference_params(self) -> tuple[str, ...]:
        """Return the query parameters that may carry the reference (the interface names none)."""
        return tuple(self.get("REFERENCE_PARAMS", ("reference", "trxref")))

    @property
    def reference_pattern(self) -> re.Pattern[str]:
        """Return what a whole reference must match."""
        return re.compile(self.get("REFERENCE_PATTERN", r"[A-Za-z0-9._=-]{1,128}"))

    @property
    def attribution(self) -> tuple[str, ...]:
        """Return the names of the attribution steps, in order."""
        return tuple(self.get("ATTRIBUTION", ("expected", "metadata", "callback")))

    @property
    def limits(self) -> Limits:
        """Return `CONNECT_TIMEOUT`, `READ_TIMEOUT` and `DEADLINE` (seconds), and `MAX_CALLS`."""
        max_calls = self.get("MAX_CALLS")
        return Limits(
            connect_timeout=float(self.get("CONNECT_TIMEOUT", DEFAULT_LIMITS.connect_timeout)),
            read_timeout=float(self.get("READ_TIMEOUT", DEFAULT_LIMITS.read_timeout)),
            deadline=float(self.get("DEADLINE", DEFAULT_LIMITS.deadline)),
            max_calls=None if max_calls is None else int(max_calls),
        )

    @property
    def proxy(self) -> str | None:
        """Return the address of the proxy that calls go through; never read from the environment."""
        return str(self.get("PROXY") or "") or None

    @property
    def ca_bundle(self) -> str | None:
        """Return the file of the certificate authorities that calls trust, if not requests' own."""
        return str(self.get("CA_BUNDLE") or "") or None

    @property
    def cache(self) -> str:
        """Return the alias of the cache that keeps the budgets for unknown references."""
        return str(self.get("CACHE", "default"))

    @property
    def unknown_per_address(self) -> int:
        """Return how many references that turn out unknown one address may ask about a minute."""
        return int(self.get("UNKNOWN_PER_ADDRESS", 20))

    @property
    def unknown_in_all(self) -> int:
        """Return how many references that turn out unknown all may ask about a minute."""
        return int(self.get("UNKNOWN_IN_ALL", 120))

    @property
    def unknown_statuses(self) -> tuple[int, ...]:
        """Return the HTTP statuses that mean "no such reference or page".

        The interface shows no error statuses; 404 is documented by the real service and 400 has
        been seen. 400 is not a default, because a bad key has been seen to answer 400 as well.
        """
        return tuple(self.get("UNKNOWN_STATUSES", (404,)))

    @property
    def exponents(self) -> Mapping[str, int]:
        """Return the decimals of each currency: those of the preset, or else the service's three.

        `CURRENCIES` adds to them and changes them.
        """
        own: Mapping[str, Any] = getattr(settings, "PAYMENTS_PAGES", {})
        return {**_preset(own).get("CURRENCIES", EXPONENTS), **own.get("CURRENCIES", {})}

    @property
    def lease(self) -> float:
        """Return the seconds for which a claim to deliver holds."""
        return float(self.get("LEASE", 60))

    @property
    def max_attempts(self) -> int:
        """Return how many times a handler is tried before staff must look."""
        return int(self.get("MAX_ATTEMPTS", 12))

    @property
    def backoff(self) -> float:
        """Return the seconds before the second attempt; each further one doubles it."""
        return float(self.get("BACKOFF", 10))

    @property
    def overdue(self) -> float:
        """Return the seconds after which a due row means that no sweep is running."""
        return float(self.get("OVERDUE", 300))

    @property
    def notify(self) -> tuple[str, ...]:
        """Return the e-mail addresses of staff that `payments_pages_digest` writes to."""
        return tuple(self.get("NOTIFY") or ())

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """Return the secrets a webhook may be signed with: as set, or the secret key itself.

        One text, several, or a callable that gives them. Raise `UnusableKey` if it does not.
        """
        secrets: SecretKeys | None = self.get("WEBHOOK_SECRETS")
        return read_secrets(self.secret_key if secrets is None else secrets)

    @property
    def webhook_header(self) -> str:
        """Return the header that carries the signature; "" keeps the webhook closed."""
        return str(self.get("WEBHOOK_HEADER", "") or "")

    @property
    def webhook_algorithm(self) -> str:
        """Return `"sha256"` or `"sha512"`; "" keeps the webhook closed."""
        return str(self.get("WEBHOOK_ALGORITHM", "") or "")

    @property
    def save_card(self) -> str:
        """Return the dotted path of the function that says whose a card is; "": none is saved."""
        return str(self.get("SAVE_CARD", "") or "")

    @property
    def card_keys(self) -> tuple[str, ...]:
        """Return the keys that encrypt the codes of saved cards, the newest first.

        One text, several, or a callable that gives them. Raise `UnusableKey` if it does not.
        """
        return read_secrets(self.get("CARD_KEYS") or ())

    def merchant(self, key: str, default: Any = None) -> Any:
        """Return the raw value of a key of `MERCHANT`, or the default."""
        found = self.get("MERCHANT", {})
        # Payers' pages must open even if a check has found a mistake here.
        return found.get(key, default) if isinstance(found, Mapping) else default

    def merchant_text(self, key: str, language: str) -> str:
        """Return a text of `MERCHANT` for payers: one for all languages, or by language code.

        Of several texts, the language's own wins, then that of
        its base ("ar" for "ar-jo"). Without either it is the first text for a name or an address,
        and "" for the rest: our own sentence in the payer's language is better than a foreign one.
        """
        texts: Mapping[str, str] | str = self.merchant(key, "")
        if not isinstance(texts, Mapping):
            return str(texts)
        base = language.split("-", maxsplit=1)[0]
        found = texts.get(language) or texts.get(base)
        if not found and key in {"NAME", "CONTACT"}:
            found = next(iter(texts.values()), "")
        return str(found or "")


def _preset(own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of the named service; none for a name that a check refuses."""
    name = own.get("SERVICE")
    return PRESETS.get(name, {}) if isinstance(name, str) else {}


def _mode_by_prefix(key: SecretKey) -> str | None:
    """Read the mode off a key, in a frame of its own: error pages show every frame's variables."""
    text = read_key(key)
    return next((str(mode) for mode in Mode if text.startswith(f"sk_{mode}_")), None)


conf = Configuration()


def load_function(setting: str, path: str) -> Callable[..., object]:
    """Return the callable at a path that a setting gives; raise `ConfigurationError` if none is."""
    try:
        function = import_string(path)
    except ImportError as error:
        raise ConfigurationError(f"{setting} {path!r} cannot be imported: {error}") from error
    if not callable(function):
        raise ConfigurationError(f"{setting} {path!r} is not callable.")
    return cast("Callable[..., object]", function)
