"""The Celery app of the suite, for the tests and for the workers that they start."""

import os

from celery import Celery

from payments_pages.celery import beat_entry

__all__ = ["VISIBILITY_TIMEOUT", "app", "build"]

VISIBILITY_TIMEOUT = 3
"""Seconds after which Redis gives to another what a killed worker had taken; by default an hour."""


def build(broker: str, queue: str) -> Celery:
    """An app on a broker, with a queue of its own."""
    made = Celery("tests", broker=broker, set_as_current=False)
    made.conf.update(
        imports=["payments_pages.celery"],
        task_default_queue=queue,
        worker_prefetch_multiplier=1,
        broker_connection_retry_on_startup=True,
    )
    if broker.startswith("redis"):
        made.conf.broker_transport_options = {
            "visibility_timeout": VISIBILITY_TIMEOUT, "global_keyprefix": queue,
        }  # fmt: skip
    return made


app = build(os.environ.get("TESTS_BROKER", "memory://"), os.environ.get("TESTS_QUEUE", "tests"))
if "TESTS_BROKER" in os.environ:
    app.set_current()
    app.set_default()
if "TESTS_BEAT" in os.environ:
    app.conf.beat_schedule = beat_entry(float(os.environ["TESTS_BEAT"]))
