"""Send references through Celery: `NUDGE` is "payments_pages.celery.nudge" (extra `celery`).

Only imported where it is named: by `NUDGE`, and by the worker's `imports`, which must hold
"payments_pages.celery" so that it knows the tasks. The site's app must be the default one
(`app.set_default()`): Celery keeps its current app by thread, and a door may be in any.
"""

from typing import Any

from celery import current_app, shared_task  # type: ignore[import-untyped]  # ships no types
from kombu.pools import producers

from payments_pages.exceptions import ConfigurationError

__all__ = ["LIMIT", "beat_entry", "nudge", "sweep", "take_reference"]

LIMIT = 0.25
"""Seconds that one step of talking to the broker may take: to connect, to write, to read. A broker
that froze with our connection open costs three, for Celery connects anew twice before it gives up:
a door is held up for less than one second."""

_SHORT: dict[str, float] = {
    # Of the connection: Celery's own default is to try for ever, with the payer waiting.
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
    # A pooled connection may be stale since the broker was restarted.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
}


# Acknowledged when done, and given to another worker when this one dies: speed, not safety.
@shared_task(acks_late=True, reject_on_worker_lost=True, ignore_result=True)  # type: ignore[untyped-decorator]  # as above
def take_reference(reference: str) -> None:
    """Take one reference through the path."""
    # Not above: a site's app module imports this one before Django has loaded its apps.
    from payments_pages.confirmation import take_message  # noqa: PLC0415

    take_message(reference)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]  # as above
def sweep() -> None:
    """Take what is due. Beside the sweep of cron, not in its place: a dead broker stops this one."""
    # As above: the models are not there yet when this module is.
    from payments_pages.confirmation import sweep_due  # noqa: PLC0415

    sweep_due()


def nudge(reference: str) -> None:
    """Publish one reference, within the short limit; raise whatever the broker's client raises.

    Raise `ConfigurationError` where this thread knows no app of the site's.
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
    """Build the entry that makes Celery's beat sweep every so many seconds.

    Put it into the app's `beat_schedule`. A sweep that was not begun in time is dropped: the next
    one does the same.
    """
    return {
        "payments-pages-sweep": {
            "task": sweep.name,
            "schedule": seconds,
            "options": {"expires": seconds},
        }
    }
