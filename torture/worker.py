"""Be a process that will be killed: the threads of a web server, or a sweep."""

import random
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.databases import is_transient
from payments_pages.sweeping import sweep_due
from torture.controls import CONTROLS
from torture.handlers import begins
from torture.pace import hurry

__all__ = ["live"]

SWEEP_EVERY = 0.2


def live(role: str) -> None:
    """Work until killed, or until the run is long over."""
    hurry()
    actions = [_sweep] if role == "sweep" else [_visit] * settings.RUN["threads"]
    threads = [threading.Thread(target=_repeat, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _repeat(action: Callable[[], None]) -> None:
    while time.time() < settings.RUN["until"]:
        close_old_connections()
        try:
            with connection.execute_wrapper(_note_fences):
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
    reference = f"TORTURE-{_pick()}"
    begins.say("told", reference, _confirm(reference))


def _confirm(reference: str) -> str:
    if (control := settings.RUN["control"]) is not None:
        return CONTROLS[control](reference)
    if random.random() < 0.6:
        token = UUID(settings.RUN["token"])
        return str(confirm_payment(reference, door=Door.CALLBACK, page_token=token).outcome)
    return str(confirm_payment(reference, door=Door.WEBHOOK, vouched=True).outcome)


def _pick() -> int:
    """Choose a payment: a hot one that everybody wants now, a cold new one, or any old one."""
    run = settings.RUN
    newest = max(1, int((time.time() - run["began"]) * run["rate"]))
    chance = random.random()
    if chance < 0.3:
        return newest - newest % 8
    if chance < 0.95:
        return random.randint(max(0, newest - 40), newest)
    return random.randint(0, newest)


def _sweep() -> None:
    if settings.RUN["control"] is None:
        sweep_due()
    time.sleep(SWEEP_EVERY)


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
