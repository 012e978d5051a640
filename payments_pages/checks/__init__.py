"""System checks: one function for each theme. Only `check --database` queries the database."""

from payments_pages.checks.addresses import (
    check_addresses,
    check_languages,
    check_own_address,
    check_site_is_known,
    check_urls,
    check_webhook,
)
from payments_pages.checks.caches import check_cache, check_shared_cache
from payments_pages.checks.charsets import check_charset
from payments_pages.checks.delivery import check_delivery, check_tasks
from payments_pages.checks.keys import check_handler, check_keys, check_mode
from payments_pages.checks.values import (
    check_database,
    check_numbers,
    check_patterns,
    check_texts,
)

__all__ = [
    "check_addresses",
    "check_cache",
    "check_charset",
    "check_database",
    "check_delivery",
    "check_handler",
    "check_keys",
    "check_languages",
    "check_mode",
    "check_numbers",
    "check_own_address",
    "check_patterns",
    "check_shared_cache",
    "check_site_is_known",
    "check_tasks",
    "check_texts",
    "check_urls",
    "check_webhook",
]
