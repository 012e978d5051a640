"""Find the queues that the suite can be run with: brokers that answer, engines that are installed."""

import os
import socket
from importlib.util import find_spec

__all__ = ["BROKERS", "why_left_out"]

BROKERS = {
    # A database number of our own; it is emptied.
    "redis": "redis://127.0.0.1:6379/9",
    "rabbitmq": "amqp://guest:guest@127.0.0.1:5672//",
}
_PORTS = {"redis": 6379, "rabbitmq": 5672}
_NEEDED = {
    "tasks": ("django_tasks_db",),
    "celery": ("celery",),
    "redis": ("celery", "redis"),
    "rabbitmq": ("celery",),
}


def why_left_out(name: str) -> str | None:
    """Say why the tests of a queue cannot run; None if they can, or if they must.

    With REQUIRE_BROKERS=1, as in CI, nothing is left out: what is missing fails.
    """
    if os.environ.get("REQUIRE_BROKERS") == "1":
        return None
    missing = [module for module in _NEEDED[name] if find_spec(module) is None]
    if missing:
        return f"{name}: {' and '.join(missing)} not installed"
    if name in _PORTS and not _answers(_PORTS[name]):
        return f"{name}: nothing answers on 127.0.0.1:{_PORTS[name]}"
    return None


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
