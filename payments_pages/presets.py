"""What public documentation says about services of this kind, for the setting `SERVICE`.

A preset is a claim and no certainty: every key that is set beside it wins. The addresses and the
decimals are documented by the services themselves; that Lahza signs webhooks with SHA-256 is only
said by others (docs/service.md). Read on 2026-11-28:

- lahza: api-docs.lahza.io (introduction, payment pages, transactions), docs.lahza.io (webhooks)
- paystack: paystack.com/docs (API, payment pages, webhooks, supported currencies)
- sandbox: `payments_pages_sandbox`, on its own port on this machine
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["PRESETS"]

_LAHZA: Mapping[str, Any] = MappingProxyType(
    {
        "BASE_URL": "https://api.lahza.io",
        "PAY_URL": "https://pay.lahza.io",
        "WEBHOOK_HEADER": "x-lahza-signature",
        "WEBHOOK_ALGORITHM": "sha256",
        "CURRENCIES": MappingProxyType({"ILS": 2, "JOD": 2, "USD": 2}),
    }
)
_PAYSTACK: Mapping[str, Any] = MappingProxyType(
    {
        "BASE_URL": "https://api.paystack.co",
        "PAY_URL": "https://paystack.com/pay",
        "WEBHOOK_HEADER": "x-paystack-signature",
        "WEBHOOK_ALGORITHM": "sha512",
        # Kobo, pesewa, cent. XOF has no minor unit, and is sent as hundredths all the same.
        "CURRENCIES": MappingProxyType(
            {"GHS": 2, "KES": 2, "NGN": 2, "USD": 2, "XOF": 2, "ZAR": 2}
        ),
    }
)
_SANDBOX: Mapping[str, Any] = MappingProxyType(
    {
        **_LAHZA,
        "BASE_URL": "http://127.0.0.1:8001/api",
        "PAY_URL": "http://127.0.0.1:8001/pay",
    }
)

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"lahza": _LAHZA, "paystack": _PAYSTACK, "sandbox": _SANDBOX}
)
"""Settings by the name of a service; `SERVICE` takes one of these names."""
