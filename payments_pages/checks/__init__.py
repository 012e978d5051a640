"""System checks: one function for each theme. Only `check --database` queries the database."""

from payments_pages.checks.addresses import (
    check_addresses,
    check_languages,
    check_own_address,
    check_proxy,
    check_site_is_known,
    check_urls,
)
from payments_pages.checks.caches import check_cache, check_shared_cache
from payments_pages.checks.cards import check_cards
from payments_pages.checks.charsets import check_charset
from payments_pages.checks.databases import check_database
from payments_pages.checks.delivery import check_delivery, check_tasks
from payments_pages.checks.keys import (
    check_handler,
    check_keys,
    check_mode,
    check_service,
    check_test_key,
)
from payments_pages.checks.mail import check_mail, check_notify
from payments_pages.checks.merchant import check_merchant, check_merchant_languages
from payments_pages.checks.values import check_numbers, check_patterns
from payments_pages.checks.webhook import check_attribution_by_webhook, check_webhook

__all__ = [
    "check_addresses",
    "check_attribution_by_webhook",
    "check_cache",
    "check_cards",
    "check_charset",
    "check_database",
    "check_delivery",
    "check_handler",
    "check_keys",
    "check_languages",
    "check_mail",
    "check_merchant",
    "check_merchant_languages",
    "check_mode",
    "check_notify",
    "check_numbers",
    "check_own_address",
    "check_patterns",
    "check_proxy",
    "check_service",
    "check_shared_cache",
    "check_site_is_known",
    "check_tasks",
    "check_test_key",
    "check_urls",
    "check_webhook",
]
