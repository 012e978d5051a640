"""The client that this site's settings describe."""

from payments_pages.client.operations import Client
from payments_pages.client.resilience import Gates
from payments_pages.conf import conf
from payments_pages.db import refuse_open_transaction

__all__ = ["GATES", "get_client"]

GATES = Gates()
"""The calls in progress and the breakers of this process."""


def get_client() -> Client:
    """Return a client that refuses to be called inside an open database transaction.

    Settings are read anew each time, so that a rotated key works without a restart;
    connections are kept by the thread, not by the client.
    """
    return Client(
        secret_key=conf.secret_key,
        base_url=conf.base_url,
        limits=conf.limits,
        unknown_statuses=conf.unknown_statuses,
        proxy=conf.proxy,
        ca_bundle=conf.ca_bundle,
        before_call=_refuse_open_transaction,
        gates=GATES,
    )


def _refuse_open_transaction(operation: str) -> None:
    refuse_open_transaction(f"The service was called ({operation})")
