"""Find wrong settings before a payer does. One function a theme; no check asks the database."""

from payments_pages.checks.addresses import check_addresses, check_urls, check_webhook
from payments_pages.checks.keys import check_handler, check_keys, check_mode
from payments_pages.checks.values import (
    check_database,
    check_numbers,
    check_patterns,
    check_texts,
)

__all__ = [
    "check_addresses",
    "check_database",
    "check_handler",
    "check_keys",
    "check_mode",
    "check_numbers",
    "check_patterns",
    "check_texts",
    "check_urls",
    "check_webhook",
]
