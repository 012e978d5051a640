"""Set the stage as a run of the torture does, let each story happen, print what the checker says.

`python -m tests.reliability.histories FOLDER DATABASE`: `DATABASE` is Django's settings for one as JSON; its test
database is made anew, and taken away afterwards. Prints one JSON object: by the name of a story,
its findings.
"""

import importlib
import json
import logging
import os
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import django
from django.test.utils import setup_databases, teardown_databases

from payments_pages.sandbox import Sandbox

STORIES = ("given", "changed", "leases", "notices", "raised")
KEY = "sk_test_torture"


class Site(BaseHTTPRequestHandler):
    """A site that answers every door with the status its server is told."""

    def _answer(self) -> None:
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = _answer  # noqa: N815 - the server's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Keep quiet."""


def main(folder: str, database: dict[str, Any]) -> None:
    with (
        Sandbox(secret_key=KEY, currency="ILS") as sandbox,
        ThreadingHTTPServer(("127.0.0.1", 0), Site) as site,
    ):
        Thread(target=site.serve_forever, daemon=True).start()
        run = {
            "database": database,
            "folder": folder,
            "secret_key": KEY,
            "base_url": sandbox.base_url,
            "pay_url": sandbox.pay_url,
            "handler": "atomic",
            "control": None,
            "delivery": "inline",
            "site": f"http://127.0.0.1:{site.server_address[1]}",
            "threads": 1,
            "token": str(uuid.uuid4()),
            "seed": 1,
            "rate": 1,
            "began": time.time(),
            "until": time.time() + 600,
        }
        (Path(folder) / "notices").mkdir()
        os.environ |= {
            "TORTURE": json.dumps(run),
            "DJANGO_SETTINGS_MODULE": "tests.reliability.torture.settings",
        }
        logging.disable(logging.CRITICAL)
        django.setup()
        made = setup_databases(verbosity=0, interactive=False)
        try:
            for stories in STORIES:  # not before: they need the models
                importlib.import_module(f"tests.reliability.histories.{stories}")
            stage = importlib.import_module("tests.reliability.histories.stage")
            found = stage.tell_all(sandbox, site)
        finally:
            teardown_databases(made, verbosity=0)
            site.shutdown()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
