"""Fork the processes that are killed, on command.

One command per line: `spawn ROLE`, `kill PID`, `stop PID`, `go PID`. The nursery
holds no thread and no connection, and reaps only whom it was told to kill: a process id is never
somebody else's. When its input ends it kills all and ends.
"""

import importlib
import logging
import os
import random
import signal
import sys
from collections.abc import Callable

import django

__all__ = ["main"]

SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "go": signal.SIGCONT}


def main() -> None:
    """Serve the commands."""
    logging.disable(logging.CRITICAL)
    django.setup()
    live = importlib.import_module(
        "tests.reliability.torture.worker"
    ).live  # not before: its models must be loaded
    children: set[int] = set()
    for line in sys.stdin:
        command, argument = line.split()
        if command == "spawn":
            pid = _spawn(live, argument)
            children.add(pid)
            sys.stdout.write(f"{pid}\n")
            sys.stdout.flush()
        else:
            os.kill(int(argument), SIGNALS[command])
            if command == "kill":
                os.waitpid(int(argument), 0)
                children.discard(int(argument))
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _spawn(live: Callable[[str], None], role: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.close(0)
        random.seed()
        live(role)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
