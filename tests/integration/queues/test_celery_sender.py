"""The Celery sender is bounded, finds the site's app, and carries nothing but the reference."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest

from payments_pages.choices import Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.exceptions import ConfigurationError
from payments_pages.models import Fulfilment
from tests.conftest import in_thread
from tests.integration.queues.proxies import FreezingProxy
from tests.support.brokers import BROKERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.queue("celery"),
]

BOUND = 1.0
"""Seconds that a dead broker may cost a door, all steps together."""


@contextmanager
def use(broker: str) -> Iterator[Any]:
    from celery import _state
    from kombu.pools import reset

    from tests.integration.queues.celery_app import build

    app = build(broker, f"payments-pages-{uuid4().hex[:8]}")
    before = (_state._tls.current_app, _state.default_app)
    app.set_current()
    app.set_default()
    try:
        yield app
    finally:
        _state._tls.current_app, _state.default_app = before
        reset()
        app.close()


def take(app: Any) -> Any:
    """The one message that waits in the app's queue."""
    with app.connection_for_read() as connection:
        return connection.SimpleQueue(app.conf.task_default_queue).get(timeout=1)


@contextmanager
def refusing() -> Iterator[int]:
    """A port that nobody listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    yield port


@contextmanager
def silent() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        server.listen(16)
        yield int(server.getsockname()[1])


@contextmanager
def unreachable() -> Iterator[int]:
    """A port whose packets are dropped: its queue of connections is full."""
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = int(server.getsockname()[1])
        waiting = [socket.socket() for _number in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        try:
            yield port
        finally:
            for one in waiting:
                one.close()


@pytest.mark.parametrize("url", ["amqp://guest:guest@127.0.0.1:{}//", "redis://127.0.0.1:{}/9"])
@pytest.mark.parametrize("dead", [refusing, silent, unreachable])
def test_a_dead_broker_holds_a_door_up_for_less_than_a_second(
    pay_many: Callable[..., list[str]], url: str, dead: Any
) -> None:
    with dead() as port, use(url.format(port)):
        pay_many(1, engine="celery")  # loads the sender
        started = time.monotonic()
        pay_many(1, engine="celery")
        assert time.monotonic() - started < BOUND
    assert set(Fulfilment.objects.values_list("state", flat=True)) == {"pending"}
    assert sweep_due().outcomes == {Outcome.DELIVERED: 2}


@pytest.mark.parametrize(
    "broker", [pytest.param(name, marks=pytest.mark.queue(name)) for name in ("redis", "rabbitmq")]
)
def test_a_broker_that_freezes_with_our_connection_open_holds_a_door_up_no_longer(
    pay_many: Callable[..., list[str]], broker: str
) -> None:
    address = urlsplit(BROKERS[broker])
    with FreezingProxy(int(address.port or 0)) as proxy:
        through = address.netloc.replace(f":{address.port}", f":{proxy.port}")
        with use(urlunsplit(address._replace(netloc=through))) as app:
            (reference,) = pay_many(1, engine="celery")
            assert take(app).payload[0] == [reference], "the control: it went through"
            proxy.freeze()
            waits = []
            for _payer in range(3):
                started = time.monotonic()
                pay_many(1, engine="celery")
                waits.append(time.monotonic() - started)
            assert proxy.swallowed > 0, "the control: the open connection was used"
            proxy.end()
    assert max(waits) < BOUND, waits
    assert set(Fulfilment.objects.values_list("state", flat=True)) == {"pending"}
    assert sweep_due().outcomes == {Outcome.DELIVERED: 4}


def test_a_message_holds_the_reference_and_nothing_else() -> None:
    from payments_pages import celery

    with use("memory://") as app:
        celery.nudge("PPG-1012")
        message = take(app)
    arguments, keywords, _embedded = message.payload
    assert (arguments, keywords) == (["PPG-1012"], {})
    assert message.headers["task"] == celery.take_reference.name


def test_the_task_is_given_to_another_worker_when_its_own_dies() -> None:
    from payments_pages import celery

    with use("memory://"):
        task = celery.take_reference
        assert (task.acks_late, task.reject_on_worker_lost, task.ignore_result) == (True,) * 3


def test_a_thread_that_knows_no_app_says_so_instead_of_using_another_broker() -> None:
    from celery import _state

    from payments_pages import celery

    before, _state.default_app = _state.default_app, None
    try:
        sent = in_thread(lambda: celery.nudge("PPG-1"))
        with pytest.raises(ConfigurationError, match="set_default"):
            sent.result(timeout=30)
    finally:
        _state.default_app = before


def test_every_thread_finds_the_default_app() -> None:
    from payments_pages import celery

    with use("memory://") as app:
        in_thread(lambda: celery.nudge("PPG-1")).result(timeout=30)
        assert take(app).payload[0] == ["PPG-1"]


def test_beat_sweeps(pay_many: Callable[..., list[str]]) -> None:
    from payments_pages import celery

    with use("memory://") as app:
        pay_many(1, engine="celery")
        app.conf.beat_schedule = celery.beat_entry(30)
        (entry,) = app.conf.beat_schedule.values()
        assert entry["schedule"] == entry["options"]["expires"] == 30
        app.tasks[entry["task"]]()
    assert Fulfilment.objects.get().state == "delivered"
