"""Measure what a verify costs each client, against a bare `Session.get` and its `json()`.

    python -m tests.benchmarks.callbacks.clients CLIENT SERVICE ROUNDS COUNT

Runs in the environment that has the client; a client and the bare session take turns. Prints, as
JSON, the seconds of CPU for one call of each, round by round.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

KEY = "sk_test_bench"

_numbers = count()


def bare(service: str) -> Callable[[str], Any]:
    """Do the least."""
    import requests

    session = requests.Session()
    headers = {"Authorization": f"Bearer {KEY}"}
    address = f"{service}/transaction/verify/"
    return lambda reference: session.get(address + reference, headers=headers, timeout=8).json()


def ours(service: str) -> Callable[[str], Any]:
    """Use ours as the path does: built for each call."""
    from payments_pages.client import Client
    from payments_pages.client.resilience import Gates

    gates = Gates()
    return lambda reference: Client(
        secret_key=KEY, base_url=service, gates=gates
    ).verify_transaction(reference)


def pypaystack2(service: str) -> Callable[[str], Any]:
    """Use pypaystack2 3.4.0; it has no setting for the service's address, so its constant is set."""
    from pypaystack2 import PaystackClient
    from pypaystack2.base_clients import AbstractAPIClient

    AbstractAPIClient._BASE_URL = service
    client = PaystackClient(secret_key=KEY)
    return client.transactions.verify  # type: ignore[no-any-return]  # not installed here


def paystackapi(service: str) -> Callable[[str], Any]:
    """Use paystackapi 2.1.3; it has no setting for the service's address, so its constant is set."""
    import paystackapi as package
    from paystackapi.transaction import Transaction

    package.API_URL, package.SECRET_KEY = f"{service}/", KEY
    return lambda reference: Transaction.verify(reference=reference)


CLIENTS = {"ours": ours, "pypaystack2": pypaystack2, "paystackapi": paystackapi}


def main(name: str, service: str, rounds: int, calls: int) -> dict[str, list[float]]:
    """Let the two take turns."""
    both = {"bare": bare(service), name: CLIENTS[name](service)}
    found: dict[str, list[float]] = {one: [] for one in both}
    for ask in both.values():
        for _call in range(50):
            ask(f"WARM-{next(_numbers)}")
    for _round in range(rounds):
        for one, ask in both.items():
            before = time.process_time()
            for _call in range(calls):
                ask(f"CLIENT-{next(_numbers)}")
            found[one].append((time.process_time() - before) / calls)
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
