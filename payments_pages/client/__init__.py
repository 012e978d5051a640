"""The client of the payment service: its six operations, typed results, one deadline per call.

Nothing here reads or writes a database. `Client` can be used alone; `get_client()` returns the one
that the settings describe. `visit()` opens a public address without the key.
"""

from payments_pages.client.answers import read_answers, read_questions
from payments_pages.client.factory import GATES, get_client
from payments_pages.client.operations import Client
from payments_pages.client.payers import (
    NAME_LENGTH,
    PHONE_DIGITS,
    brand_of,
    card_of,
    expiry_of,
    full_name,
    last_four,
    payer_terms,
    phone_end,
    phone_of,
)
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
from payments_pages.client.targets import checked_proxy, is_loopback
from payments_pages.client.visits import Visit, visit
from payments_pages.limits import Limits

__all__ = [
    "BREAKER_PAUSE",
    "GATES",
    "MAX_LENGTHS",
    "NAME_LENGTH",
    "PATIENCE",
    "PHONE_DIGITS",
    "Bulkhead",
    "Client",
    "Limits",
    "PageList",
    "PageResource",
    "SkippedPage",
    "TransactionResource",
    "Visit",
    "brand_of",
    "card_of",
    "checked_proxy",
    "clean_text",
    "expiry_of",
    "full_name",
    "get_client",
    "is_loopback",
    "json_text",
    "last_four",
    "payer_terms",
    "phone_end",
    "phone_of",
    "read_answers",
    "read_metadata",
    "read_questions",
    "visit",
]
