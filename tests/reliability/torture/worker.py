"""A process that will be killed: threads at a door, a web server, a queue's worker or a sweep."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment, sweep_due, take_message
from payments_pages.db import is_transient
from tests.reliability.torture.controls import CONTROLS
from tests.reliability.torture.handlers import begins
from tests.reliability.torture.messages import take
from tests.reliability.torture.notices import send_next, take_notice
from tests.reliability.torture.pace import hurry
from tests.reliability.torture.plan import payment
from tests.reliability.torture.site import serve
from tests.reliability.torture.unguarded import take_guards_away
from tests.reliability.torture.visits import look_at_site, send_notice, visit_site

__all__ = ["ROLES", "live"]

SWEEP_EVERY = 0.2
SINGLE = {"service", "service-http", "site", "sweep"}
"""Roles of one thread."""


def live(role: str) -> None:
    """Work until killed, or until the run is long over."""
    hurry()
    if settings.RUN["control"] == "unguarded":
        take_guards_away()
    connection_created.connect(_watch)
    many = 1 if role in SINGLE else settings.RUN["threads"]
    threads = [threading.Thread(target=_repeat, args=(ROLES[role],)) for _thread in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _repeat(action: Callable[[], None]) -> None:
    while time.time() < settings.RUN["until"]:
        close_old_connections()
        try:
            action()
        except Exception as error:  # noqa: BLE001 - the checker judges it
            _note_error(action, error)
            time.sleep(0.05)


def _note_error(action: Callable[[], None], error: Exception) -> None:
    """Note what came out; a sweep may say that the database is away, the path itself may not."""
    away = isinstance(error, DatabaseError | InterfaceError) and is_transient(error)
    if not (away and action is _sweep):
        begins.say("error", type(error).__name__, error)


def _visit() -> None:
    """Come back as a payer, or be told by a webhook; note what was answered."""
    reference = _pick()
    begins.say("told", reference, _confirm(reference))


def _visit_over_http() -> None:
    reference = _pick()
    if (outcome := visit_site(reference)) is not None:
        begins.say("told", reference, outcome)


def _send_notices() -> None:
    """Send a signed notice to this process's own path, as the service does."""
    if settings.RUN["control"] in CONTROLS:  # it has no such door
        time.sleep(SWEEP_EVERY)
        return
    send_next(_newest(), look=_come_back, tell=take_notice)


def _send_notices_over_http() -> None:
    send_next(_newest(), look=look_at_site, tell=send_notice)


def _consume() -> None:
    """Take a message, and lose it if killed now."""
    if (reference := take()) is None:
        time.sleep(0.05)
    elif (outcome := take_message(reference)) is not None:
        begins.say("told", reference, outcome)


def _confirm(reference: str) -> str:
    if (control := CONTROLS.get(settings.RUN["control"])) is not None:
        return control(reference)
    if random.random() < 0.6:
        return _come_back(reference)
    return str(confirm_payment(reference, door=Door.WEBHOOK, vouched=True).outcome)


def _come_back(reference: str) -> str:
    token = UUID(settings.RUN["token"])
    return str(confirm_payment(reference, door=Door.CALLBACK, page_token=token).outcome)


def _pick() -> str:
    """Choose the reference of a payer who comes back; for a control, any reference."""
    while True:
        number = _pick_number()
        made = payment(settings.RUN["seed"], number, settings.RUN["token"])
        if not made.by_notice or settings.RUN["control"] in CONTROLS:
            return made.reference


def _newest() -> int:
    return max(1, int((time.time() - settings.RUN["began"]) * settings.RUN["rate"]))


def _pick_number() -> int:
    """Choose a payment: a hot one that everybody wants now, a cold new one, or any old one."""
    newest = _newest()
    chance = random.random()
    if chance < 0.3:
        return newest - newest % 8
    if chance < 0.95:
        return random.randint(max(0, newest - 40), newest)
    return random.randint(0, newest)


def _sweep() -> None:
    if settings.RUN["control"] not in CONTROLS:
        # A row's error stops nothing there, and is never the database's being away: confirm_payment
        # answers that.
        for _row in range(sweep_due().errors):
            begins.say("error", "SweptRow", "a row raised an error in a sweep")
    time.sleep(SWEEP_EVERY)


ROLES: Mapping[str, Callable[[], None]] = {
    "door": _visit,
    "visitor": _visit_over_http,
    "consumer": _consume,
    "service": _send_notices,
    "service-http": _send_notices_over_http,
    "site": serve,
    "sweep": _sweep,
}
"""What a process repeats, by its role; a site serves until it is killed."""


def _watch(connection: BaseDatabaseWrapper, **_named: Any) -> None:
    """Record the guards of every connection, in whichever thread it is opened."""
    if _note_fences not in connection.execute_wrappers:
        connection.execute_wrappers.append(_note_fences)


def _note_fences(
    execute: Callable[..., Any], sql: str, params: Any, many: Any, context: Any
) -> Any:
    """Note who wanted to complete a delivery, or to write an answer down, and came too late."""
    result = execute(sql, params, many, context)
    if sql.startswith("UPDATE") and context["cursor"].rowcount == 0:
        if "delivered_at" in sql:
            begins.say("fenced", "delivery")
        elif "payments_pages_verification" in sql and "last_error" in sql:
            begins.say("fenced", "answer")
    return result
