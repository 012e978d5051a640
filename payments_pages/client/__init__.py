"""The client of the payment service: its six operations, typed results, one deadline per call.

Nothing here reads or writes a database. `Client` can be used alone; `get_client()` returns the one
that the settings describe.
"""

from payments_pages.client.factory import get_client
from payments_pages.client.operations import Client
from payments_pages.client.resources import PageList, PageResource, TransactionResource

__all__ = ["Client", "PageList", "PageResource", "TransactionResource", "get_client"]
