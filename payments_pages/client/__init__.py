"""The client of the payment service: its six operations, typed results, one deadline per call.

Nothing here reads or writes a database. `Client` can be used alone; `get_client()` returns the one
that the settings describe.
"""

from payments_pages.client.factory import GATES, get_client
from payments_pages.client.operations import Client
from payments_pages.client.payloads import clean_text, json_text
from payments_pages.client.resilience import BREAKER_PAUSE, PATIENCE, Bulkhead
from payments_pages.client.resources import (
    MAX_LENGTHS,
    PageList,
    PageResource,
    SkippedPage,
    TransactionResource,
    read_metadata,
)
from payments_pages.client.targets import is_loopback
from payments_pages.limits import Limits

__all__ = [
    "BREAKER_PAUSE",
    "GATES",
    "MAX_LENGTHS",
    "PATIENCE",
    "Bulkhead",
    "Client",
    "Limits",
    "PageList",
    "PageResource",
    "SkippedPage",
    "TransactionResource",
    "clean_text",
    "get_client",
    "is_loopback",
    "json_text",
    "read_metadata",
]
