"""Hosted pages: create, change and deactivate them at the service, and keep the mirror in sync.

Nothing here takes part in the path of a payment.
"""

from payments_pages.pages.changes import create_page, set_active, update_page
from payments_pages.pages.links import callback_url, public_url
from payments_pages.pages.sync import SyncReport, sync_pages

__all__ = [
    "SyncReport",
    "callback_url",
    "create_page",
    "public_url",
    "set_active",
    "sync_pages",
    "update_page",
]
