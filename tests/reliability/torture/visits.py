"""Knock at the site's doors over HTTP: come back as a payer, ask as an app, send a webhook."""

import random
from collections.abc import Callable, Collection
from typing import Any

import requests
from django.conf import settings

from payments_pages.signatures import sign
from tests.reliability.torture.handlers import begins
from tests.reliability.torture.notices import notice

__all__ = ["look_at_site", "send_notice", "visit_site"]

PATIENCE = 5.0
"""Seconds a visitor waits for an answer: longer than any process stands still."""
AWAY = 503
"""Any door may say so while the database is away; confirm and webhook also while the service is."""


def visit_site(reference: str) -> str | None:
    """Come by one of three doors; what was told about the reference, None for nothing.

    An answer that no door may give, such as a 500, is noted as an error. A connection that broke,
    or no answer in time, is what a visitor of a killed process must bear.
    """
    return _visit(random.choices((_callback, _confirm, _webhook), weights=(4, 3, 3))[0], reference)


def look_at_site(reference: str) -> str | None:
    """Come back as a payer; what was told."""
    return _visit(_callback, reference)


def send_notice(reference: str) -> str | None:
    """Send the service's notice; the outcome it was answered with, None for no usable answer.

    503 is one where it says what is true: that the payment is on record, and not confirmed yet.
    """
    return _visit(_notice, reference)


def _visit(door: Callable[[requests.Session, str], str | None], reference: str) -> str | None:
    try:
        # A session for each: a kept connection would always lead to the same process.
        with requests.Session() as browser:
            return door(browser, reference)
    except requests.RequestException as error:
        begins.say("hung_up", type(error).__name__)
        return None


def _callback(browser: requests.Session, reference: str) -> str | None:
    path = f"/callback/{settings.RUN['token']}/"
    answer = _ask(browser.get, path, {200, 303, 404}, params={"reference": reference})
    if answer.status_code != 303:
        return {200: "unavailable", 404: "unknown"}.get(answer.status_code)
    if (result := answer.headers.get("Location")) is None:
        # A process that dies while it writes its headers looks like one that wrote no more.
        raise requests.ConnectionError("cut off in the headers")
    return _outcome(_ask(browser.get, f"{result}status/", {200}))


def _confirm(browser: requests.Session, reference: str) -> str | None:
    usual = {200, 202, 402, 404}
    return _outcome(_ask(browser.post, "/confirm/", usual, json={"reference": reference}))


def _webhook(browser: requests.Session, reference: str) -> str | None:
    return _outcome(_send(browser, reference))


def _notice(browser: requests.Session, reference: str) -> str | None:
    answer = _send(browser, reference)
    if answer.status_code != AWAY or "json" not in answer.headers.get("Content-Type", ""):
        return _outcome(answer)
    return str(answer.json().get("outcome"))


def _send(browser: requests.Session, reference: str) -> requests.Response:
    body = notice(reference)
    headers = {
        "Content-Type": "application/json",
        settings.PAYMENTS_PAGES["WEBHOOK_HEADER"]: sign(body, settings.RUN["secret_key"], "sha256"),
    }
    return _ask(browser.post, "/webhook/", {200}, data=body, headers=headers)


def _ask(
    method: Callable[..., requests.Response], path: str, usual: Collection[int], **more: Any
) -> requests.Response:
    answer = method(settings.RUN["site"] + path, timeout=PATIENCE, allow_redirects=False, **more)
    if answer.status_code not in {*usual, AWAY}:
        begins.say("error", f"Status{answer.status_code}", path)
    return answer


def _outcome(answer: requests.Response) -> str | None:
    """Read a program's answer; None where it says nothing about the payment."""
    found = answer.json().get("outcome") if answer.status_code < 500 else None
    return found if isinstance(found, str) else None
