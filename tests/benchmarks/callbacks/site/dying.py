"""Visit a site's callback once, and die before or after one of its statements, or pause before it asks.

python -m tests.benchmarks.callbacks.site.dying ADDRESS before|after NUMBER
python -m tests.benchmarks.callbacks.site.dying ADDRESS pause 0

Statements are counted from 1, without BEGIN and COMMIT. The process ends with 9 if it died, and
with 0 if the visit had fewer statements.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import django
import requests

PAUSE = 8
"""Seconds: longer than another visit takes."""


def main() -> None:
    """Visit, and die on the way."""
    address, side, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.benchmarks.callbacks.site.settings")
    django.setup()
    from django.db import connection
    from django.test import Client

    seen = 0

    def count(execute: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == number and side == "before":
            os._exit(9)
        result = execute(*arguments)
        if seen == number:
            os._exit(9)
        return result

    if side == "pause":
        get = requests.Session.get

        def get_late(*arguments: Any, **named: Any) -> requests.Response:
            time.sleep(PAUSE)
            return get(*arguments, **named)

        requests.Session.get = get_late  # type: ignore[method-assign]  # this process does no more
    client = Client()
    with connection.execute_wrapper(count):
        client.get(address)


if __name__ == "__main__":
    main()
