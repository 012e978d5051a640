"""Examination of the cache: another process of this site must see what this one writes."""

import os
import secrets
import subprocess
import sys
from contextlib import suppress
from typing import Final

from django.core.cache import caches

from payments_pages.conf import conf
from payments_pages.doctor.findings import Finding, right, unknown, wrong

__all__ = ["cache"]

TIMEOUT: Final = 30
"""Seconds in which the second process must have started and answered."""
_READ: Final = """
import sys, django
django.setup()
from django.core.cache import caches
print(caches[sys.argv[1]].get(sys.argv[2]))
"""
_SETTINGS: Final = "DJANGO_SETTINGS_MODULE"
_SHARE: Final = (
    "Let CACHE name a cache that all processes share, such as Redis: otherwise each process "
    "counts by itself how many made-up references may be asked about."
)


def cache() -> Finding:
    """Write a value, and let a second process with the same settings read it; then delete it."""
    if not os.environ.get(_SETTINGS):
        return unknown(
            "The settings are in no module that a second process could import.",
            f"Run the doctor with {_SETTINGS} set.",
        )
    key, value = f"payments_pages.doctor.{secrets.token_hex(8)}", secrets.token_hex(8)
    try:
        caches[conf.cache].set(key, value, timeout=2 * TIMEOUT)
        return _shared(key, value)
    except Exception as error:  # noqa: BLE001 - each cache has its own errors
        return wrong(
            f"The cache {conf.cache!r} cannot be used: {type(error).__name__}.",
            "Start it, or correct its address in CACHES: without it no budget for made-up "
            "references is kept.",
        )
    finally:
        # An error is told already, and the value ends by itself within a minute.
        with suppress(Exception):
            caches[conf.cache].delete(key)


def _shared(key: str, value: str) -> Finding:
    """Say whether a second process reads what this one has written."""
    try:
        found = _read_elsewhere(key)
    except subprocess.TimeoutExpired:
        return unknown(f"A second process did not start within {TIMEOUT} s.", "Run it again.")
    except subprocess.CalledProcessError as error:
        return unknown(
            f"A second process with the same settings ended with exit code {error.returncode}.",
            "Run the doctor as the site itself is run: same user, directory and environment.",
        )
    if found == value:
        return right(f"A second process reads what this one writes into the cache {conf.cache!r}.")
    return wrong(
        f"The cache {conf.cache!r} is not shared: a second process does not see what this one "
        "writes.",
        _SHARE,
    )


def _read_elsewhere(key: str) -> str:
    """Return what a second process reads; raise what `subprocess.run` raises."""
    # What it says on stderr may quote anything: it is read and not shown.
    done = subprocess.run(  # noqa: S603 - our own program, without a shell
        [sys.executable, "-c", _READ, conf.cache, key],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    return done.stdout.split()[-1] if done.stdout.split() else ""
