"""References sent through Celery: `NUDGE` is "payments_pages.celery.nudge" (extra `celery`).

Imported only where it is named: in `NUDGE`, and in the worker's `imports`, which must contain
"payments_pages.celery" so that the worker knows the tasks. The site's app must be the default one
(`app.set_default()`): Celery keeps its current app for each thread, and a door may run in any thread.
"""

from typing import Any

from celery import current_app, shared_task  # type: ignore[import-untyped]  # ships no types
from kombu.pools import producers

from payments_pages.exceptions import ConfigurationError

__all__ = ["LIMIT", "beat_entry", "nudge", "sweep", "take_reference"]

LIMIT = 0.25
"""Seconds for one step with the broker: to connect, to write, to read. A broker that hangs while our
connection is open costs three of them, because Celery connects anew twice before it gives up. So a
door waits for less than one second."""

SWEEP_SECONDS = 50
"""Seconds after which a sweep takes no further row: by default the beat sends one every minute."""

_SHORT: dict[str, float] = {
    # Of the connection. Celery's default is to try for ever, while the payer waits.
    "max_retries": 0,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
    # Redis.
    "socket_connect_timeout": LIMIT,
    "socket_timeout": LIMIT,
    # RabbitMQ.
    "read_timeout": LIMIT,
    "write_timeout": LIMIT,
}
_ONCE_MORE: dict[str, float] = {
    # The broker may have been restarted, so that a pooled connection is closed.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
}


# Acknowledged when done, so that another worker takes it if this one dies. Only for speed: the
# sweep would deliver it, too.
@shared_task(acks_late=True, reject_on_worker_lost=True, ignore_result=True)  # type: ignore[untyped-decorator]  # as above
def take_reference(reference: str) -> None:
    """Take one reference through the path."""
    # Imported here: a site's Celery module imports this one before Django has loaded its apps.
    from payments_pages.confirmation import take_message  # noqa: PLC0415 - needs the models

    take_message(reference)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]  # as above
def sweep() -> None:
    """Take what is due. Keep the sweep of cron as well: a dead broker stops this one."""
    # As above: the models are not loaded yet when this module is imported.
    from payments_pages.confirmation import sweep_due  # noqa: PLC0415 - needs the models
    from payments_pages.staff import keep_some_days  # noqa: PLC0415 - needs the models

    sweep_due(seconds=SWEEP_SECONDS)
    keep_some_days()


def nudge(reference: str) -> None:
    """Publish one reference within the time limit; raise what the broker's client raises.

    Raise `ConfigurationError` if this thread has no Celery app of the site.
    """
    conf = current_app.conf
    if current_app.main == "default" and not conf.broker_url:
        raise ConfigurationError("Celery knows no app in this thread: call app.set_default().")
    connection = current_app.connection_for_write(
        connect_timeout=LIMIT,
        transport_options={**(conf.broker_transport_options or {}), **_SHORT},
    )
    with producers[connection].acquire(block=True, timeout=LIMIT) as producer:
        take_reference.apply_async(
            (reference,), producer=producer, retry=True, retry_policy=_ONCE_MORE
        )


def beat_entry(seconds: float = 60) -> dict[str, dict[str, Any]]:
    """Build the entry for the app's `beat_schedule`: a sweep every `seconds`.

    A sweep that no worker began in time is dropped, because the next one does the same.
    """
    return {
        "payments-pages-sweep": {
            "task": sweep.name,
            "schedule": seconds,
            "options": {"expires": seconds},
        }
    }
