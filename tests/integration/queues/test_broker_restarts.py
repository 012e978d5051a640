"""What a broker has lost when it is back: measured on brokers of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from payments_pages.choices import Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.models import Fulfilment
from tests.integration.queues.own_brokers import OwnBroker, own_broker
from tests.integration.queues.test_celery_sender import use

pytestmark = pytest.mark.slow

BURST = 200
"""Messages sent just before the end: more than a broker writes down in that moment."""


@pytest.fixture
def own(broker: str, tmp_path: Path) -> Iterator[OwnBroker]:
    with own_broker(broker, tmp_path) as started:
        yield started


def waiting(app: Any) -> int:
    """Count the messages that wait in the app's queue."""
    with app.connection_for_read() as connection:
        bound = app.amqp.queues[app.conf.task_default_queue](connection.default_channel)
        return int(bound.queue_declare().message_count)


@pytest.mark.timeout(600)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "broker", [pytest.param(name, marks=pytest.mark.queue(name)) for name in ("redis", "rabbitmq")]
)
def test_a_restart_loses_nothing_and_a_crash_what_was_not_written_yet(
    own: OwnBroker, pay_many: Callable[..., list[str]]
) -> None:
    from payments_pages import celery

    with use(own.url) as app:
        pay_many(3, engine="celery")
        own.stop()
        own.start()
        assert waiting(app) == 3
        for number in range(BURST):
            celery.nudge(f"PPG-{number}")
        own.kill()
        own.start()
        assert 3 <= waiting(app) < 3 + BURST
    assert set(Fulfilment.objects.values_list("state", flat=True)) == {"pending"}
    assert sweep_due().outcomes == {Outcome.DELIVERED: 3}
