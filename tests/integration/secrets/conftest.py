"""Plant the canaries, listen to everything, and look round when the flow is over."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from payments_pages.sandbox import Sandbox
from tests.support.leak_detector import CODE, KEY, Watch


@pytest.fixture
def sandbox(sandbox: Sandbox, configure: Any) -> Sandbox:
    """The suite's sandbox under the planted key, which the site has from a careless file."""
    sandbox.set_account(secret_key=KEY)
    configure(SECRET_KEY=f"{KEY}\n")
    return sandbox


@pytest.fixture
def watch(db: None, sandbox: Sandbox) -> Iterator[Watch]:
    """Listen to every logger at DEBUG; afterwards nothing may have been told."""
    watch = Watch()
    root = logging.getLogger()
    levels = {
        logger: logger.level for logger in (root, *map(logging.getLogger, root.manager.loggerDict))
    }
    for logger in levels:
        logger.setLevel(logging.DEBUG)
    root.addHandler(watch.listener)
    try:
        yield watch
        watch.look_round()
        assert watch.leaks() == []
        assert watch.told or watch.listener.texts, "nothing was listened to"
    finally:
        root.removeHandler(watch.listener)
        for logger, level in levels.items():
            logger.setLevel(level)


@pytest.fixture
def reference(tea_box: Any, sandbox: Sandbox) -> str:
    """A payment whose record carries the card code wherever a service could put it."""
    reference = sandbox.pay("tea-box")
    transaction = sandbox.state.find_transaction(reference)
    assert transaction is not None
    sandbox.set_transaction(
        reference,
        authorization={**transaction.data["authorization"], "authorization_code": CODE},
        metadata=f'{{"authorization_code": "{CODE}", "token": "{tea_box.token}"}}',
        gateway_response=f"Approved for {CODE}",
        message=f"card {CODE} of the payer",
        log={"history": [{"type": "action", "message": f"used {CODE}"}]},
    )
    return reference
