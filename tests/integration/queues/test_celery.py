"""Celery on real brokers: killed workers and an emptied broker lose nothing, double nothing."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import sweep_due
from payments_pages.models import Fulfilment
from payments_pages.testing import let_time_pass
from tests.integration.queues.counting import delivered, goods_once
from tests.integration.queues.workers import Crew, wait_until
from tests.support.brokers import BROKERS
from tests.support.goods.models import Good

on_each_broker = pytest.mark.parametrize(
    "broker", [pytest.param(name, marks=pytest.mark.queue(name)) for name in ("redis", "rabbitmq")]
)
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

WORKER = [
    "celery", "-A", "tests.integration.queues.celery_app", "worker", "--concurrency", "2", "--loglevel",
    "WARNING", "--hostname", "worker{number}@%h", "--without-gossip", "--without-mingle", "--without-heartbeat",
]  # fmt: skip


class Queue:
    """A queue of this test alone, on one broker."""

    def __init__(self, app: Any, broker: str) -> None:
        self.app = app
        self.broker = broker
        self.name = app.conf.task_default_queue

    def empty(self) -> int:
        """Lose all messages, as a broker without a disk does; how many there were."""
        with self.app.connection_for_write() as connection:
            lost = connection.default_channel.queue_purge(self.name)
        if self.broker == "redis":
            from redis import Redis

            # Only what is ours: another run may be at the same broker.
            with Redis.from_url(BROKERS["redis"]) as client:
                for key in client.scan_iter(f"{self.name}*"):
                    client.delete(key)
        return int(lost or 0)

    def waiting(self) -> int:
        """Count the messages that no worker has in hand."""
        with self.app.connection_for_read() as connection:
            bound = self.app.amqp.queues[self.name](connection.default_channel)
            return int(bound.queue_declare().message_count)

    def unacknowledged(self) -> int:
        """Count, at Redis, the messages that some worker has in hand, or had when it died."""
        from redis import Redis

        with Redis.from_url(BROKERS["redis"]) as client:
            return int(client.hlen(f"{self.name}unacked"))

    def delete(self) -> None:
        with self.app.connection_for_write() as connection:
            connection.default_channel.queue_delete(self.name)


@pytest.fixture
def queue(broker: str) -> Iterator[Queue]:
    from kombu.pools import reset

    from tests.integration.queues.celery_app import build

    app = build(BROKERS[broker], f"payments-pages-{uuid4().hex[:8]}")
    app.set_current()
    app.set_default()
    found = Queue(app, broker)
    yield found
    found.empty()
    found.delete()
    reset()
    app.close()


@pytest.fixture
def crew(queue: Queue, child_environment: Callable[[], dict[str, str]]) -> Iterator[Any]:
    """Start workers on the queue, with the settings as they are when it is called."""
    crews: list[Crew] = []

    def build(*options: str, **variables: str) -> Crew:
        environment = {
            **child_environment(), "TESTS_BROKER": BROKERS[queue.broker], "TESTS_QUEUE": queue.name,
        }  # fmt: skip
        crews.append(Crew([*WORKER, *options], environment | variables))
        return crews[-1]

    yield build
    for started in crews:
        started.end()


def undone() -> int:
    """Count what PostgreSQL undid at serializable, for others were at it: slow, so the sweep's."""
    if os.environ.get("TESTS_ISOLATION") != "serializable":
        return 0
    return Fulfilment.objects.filter(state=State.FAILED).count()


def sweep_to_the_end() -> int:
    """Sweep until nothing is due; how many references it took."""
    taken = 0
    for _round in range(3):
        let_time_pass(7200)
        report = sweep_due()
        assert report.errors == 0
        taken += report.taken
    return taken


@on_each_broker
def test_workers_deliver_what_doors_leave_to_them(
    queue: Queue, crew: Any, pay_many: Callable[..., list[str]]
) -> None:
    references = pay_many(20, engine="celery")
    assert delivered() == 0
    team = crew()
    team.start(2)
    assert wait_until(lambda: delivered() == 20, seconds=150), team.log()
    assert goods_once(references)
    assert sweep_to_the_end() == 0


@on_each_broker
def test_a_child_that_dies_in_the_handler_is_made_good(
    queue: Queue, crew: Any, pay_many: Callable[..., list[str]]
) -> None:
    """Its message comes back too early, while the dead child's lease holds; the sweep is in time."""
    references = pay_many(
        4, engine="celery", HANDLER="tests.support.goods.handlers.die_first", LEASE=600
    )
    team = crew()
    team.start()
    died = Fulfilment.objects.filter(state=State.DELIVERING, attempts=1)
    assert wait_until(lambda: died.count() == 4, seconds=150), team.log()
    team.kill()
    assert not Good.objects.exists()
    assert sweep_to_the_end() == 4
    assert goods_once(references)


@on_each_broker
def test_killed_workers_and_an_emptied_broker_cost_nothing_but_time(
    queue: Queue, crew: Any, pay_many: Callable[..., list[str]]
) -> None:
    slow = {"HANDLER": "tests.support.goods.handlers.slow", "LEASE": 2}
    references = pay_many(16, engine="celery", **slow)
    team = crew()
    team.start(2)
    assert wait_until(lambda: delivered() >= 4, seconds=150), team.log()
    assert team.kill() == 2, team.log()
    lost = queue.empty()
    assert lost > 0, "the control: messages were there to be lost"
    left = 16 - delivered()
    assert left > 0
    references += pay_many(6, engine="celery", **slow)
    team.start(2)
    assert wait_until(lambda: delivered() + undone() >= 22 - left, seconds=150), team.log()
    assert delivered() < 22, "what the broker lost no worker can know of"
    team.kill()
    assert sweep_to_the_end() > 0
    assert goods_once(references)
    assert delivered() == 22


@on_each_broker
def test_what_a_killed_worker_had_in_hand_comes_back_before_its_lease_ends(
    queue: Queue, crew: Any, pay_many: Callable[..., list[str]], configure: Any
) -> None:
    """RabbitMQ gives it back at once, Redis after the visibility timeout; both too early.

    The next worker finds the dead one's lease, so the message is spent and the sweep delivers.
    """
    from tests.integration.queues.celery_app import VISIBILITY_TIMEOUT

    never_ends = {"HANDLER": "tests.integration.queues.handlers.never_end", "HANDLER_ATOMIC": False}
    references = pay_many(4, engine="celery", LEASE=600, **never_ends)
    assert queue.waiting() == 4
    team = crew()
    team.start()
    begun = Fulfilment.objects.filter(state=State.DELIVERING, attempts=1)
    assert wait_until(lambda: begun.count() == 2, seconds=150), team.log()
    assert queue.waiting() == 2, "a worker takes what it works on, and no more"
    assert team.kill() == 1
    if queue.broker == "rabbitmq":
        assert wait_until(lambda: queue.waiting() == 4, seconds=30)
    else:
        assert (queue.waiting(), queue.unacknowledged()) == (2, 2)
        # A worker looks for such messages when it starts, and then every 100 seconds.
        time.sleep(VISIBILITY_TIMEOUT + 1)
    configure(HANDLER="tests.support.goods.handlers.deliver", HANDLER_ATOMIC=True)
    others = crew()
    others.start()
    assert wait_until(lambda: delivered() == 2 and queue.waiting() == 0, seconds=150), others.log()
    if queue.broker == "redis":
        assert wait_until(lambda: queue.unacknowledged() == 0, seconds=150), others.log()
    others.retire()
    assert queue.waiting() == 0, "what came back was acknowledged: nobody has it in hand any more"
    assert begun.count() == 2, "and left alone, for the lease of the dead one holds"
    assert sweep_to_the_end() == 2
    assert goods_once(references)


@on_each_broker
def test_beat_itself_delivers_what_nobody_told_a_worker_of(
    queue: Queue, crew: Any, pay_many: Callable[..., list[str]], tmp_path: Path
) -> None:
    references = pay_many(3, engine="celery")
    assert queue.empty() == 3
    team = crew("--beat", "--schedule", str(tmp_path / "beat"), TESTS_BEAT="1")
    team.start()
    assert wait_until(lambda: delivered() == 3, seconds=150), team.log()
    assert goods_once(references)
