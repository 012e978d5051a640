"""Run jobs in processes of their own: one JSON line in, one out.

Started with the name of the test database and of the module whose `run` does a job. Each job
runs in a fork of this process, which has loaded everything and holds no connection and no
thread: a job may be killed, and costs little.
"""

import importlib
import json
import os
import sys
import traceback
from typing import Any

import django
from django.conf import settings


def main(database: str, jobs: str) -> None:
    """Serve until the input ends."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.settings")
    settings.DATABASES["default"]["NAME"] = database
    django.setup()
    run = importlib.import_module(jobs).run  # not before: the models must be loaded first
    _say("ready")
    for line in sys.stdin:
        job = json.loads(line)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _work(run, job, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        _pid, status = os.waitpid(pid, 0)
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        _say(json.dumps({"rows": json.loads(text or "[]"), "killed": killed}))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _work(run: Any, job: dict[str, Any], writing: int) -> None:
    code = 1
    try:
        settings.PAYMENTS_PAGES = {**settings.PAYMENTS_PAGES, **job["settings"]}
        with os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(run(job)))
        code = 0
    except Exception:  # noqa: BLE001 - the parent sees no rows, and people the reason
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
