"""Hosted pages: create, change and deactivate them at the service, and keep the mirror in sync.

Nothing here takes part in the path of a payment.
"""

from payments_pages.pages.changes import (
    create_page,
    keep_remote,
    refresh_page,
    send_local_back,
    sendable_drift,
    set_active,
    update_page,
)
from payments_pages.pages.differences import describe_differences
from payments_pages.pages.links import callback_url, comes_back_here, public_url, slug_url
from payments_pages.pages.mirror import DRIFTING, UPDATABLE
from payments_pages.pages.origins import is_origin, is_reserved, is_safe
from payments_pages.pages.removal import remove_page
from payments_pages.pages.sellers import forget_seller, sell_elsewhere, sell_here
from payments_pages.pages.slugs import MAX_SLUG, check_slug_text, make_slug, slug_key, slug_of_name
from payments_pages.pages.sync import (
    Sync,
    SyncReport,
    continue_sync,
    finish_sync,
    pages_of_equal_price,
    sync_pages,
)

__all__ = [
    "DRIFTING",
    "MAX_SLUG",
    "UPDATABLE",
    "Sync",
    "SyncReport",
    "callback_url",
    "check_slug_text",
    "comes_back_here",
    "continue_sync",
    "create_page",
    "describe_differences",
    "finish_sync",
    "forget_seller",
    "is_origin",
    "is_reserved",
    "is_safe",
    "keep_remote",
    "make_slug",
    "pages_of_equal_price",
    "public_url",
    "refresh_page",
    "remove_page",
    "sell_elsewhere",
    "sell_here",
    "send_local_back",
    "sendable_drift",
    "set_active",
    "slug_key",
    "slug_of_name",
    "slug_url",
    "sync_pages",
    "update_page",
]
