"""Take the service's webhooks: check the signature, read the reference, ask the service."""

import logging
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from payments_pages.choices import Outcome
from payments_pages.conf import conf
from payments_pages.confirmation.confirm import COME_BACK, Confirmation
from payments_pages.exceptions import InvalidEvent, UnusableKey
from payments_pages.signatures import ALGORITHMS, is_signed
from payments_pages.views.decorators import answer, door
from payments_pages.views.events import take_event
from payments_pages.views.requests import read_body

__all__ = ["webhook"]

logger = logging.getLogger("payments_pages.webhook")

LIMIT = 256 * 1024

SENT_AGAIN = frozenset({Outcome.UNAVAILABLE, Outcome.DELIVERY_FAILED})
"""Outcomes that a second sending may better; all others are on record and go on by themselves."""


@door
def webhook(request: HttpRequest) -> HttpResponse:
    """Answer 200 for what is done or on record, 503 for what should be sent again.

    That includes a signed success which the service does not confirm yet: verify may be later
    than its own message.

    401 without a good signature, and for every request until header and algorithm are set:
    closed by default. 503 when they cannot be read, for the next sending may find them. 400 for
    what is no event, 413 for what is too large.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        body = read_body(request, LIMIT)
        if not _is_ours(request, body):
            return answer({"outcome": "unsigned"}, status=HTTPStatus.UNAUTHORIZED)
        return _taken(take_event(body))
    except UnusableKey as error:
        logger.critical("webhook.no_secrets: %s", error, extra={"why": str(error)})
        data: dict[str, object] = {"outcome": Outcome.UNAVAILABLE}
        return answer(data, status=HTTPStatus.SERVICE_UNAVAILABLE, retry_after=COME_BACK)
    except InvalidEvent as error:
        logger.warning("webhook.invalid: %s", error, extra={"why": str(error)})
        return answer({"outcome": "invalid", "detail": str(error)}, status=error.status)


def _taken(found: Confirmation | None) -> HttpResponse:
    if found is None:
        return answer({"outcome": "ignored"})
    if found.outcome in SENT_AGAIN or found.contradicted:
        status = HTTPStatus.SERVICE_UNAVAILABLE
        return answer({"outcome": found.outcome}, status=status, retry_after=found.retry_after)
    return answer({"outcome": found.outcome})


def _is_ours(request: HttpRequest, body: bytes) -> bool:
    """Check the signature over the bytes that arrived; say in the log why one is refused."""
    if not conf.webhook_header or conf.webhook_algorithm not in ALGORITHMS:
        _say_closed("set WEBHOOK_HEADER and WEBHOOK_ALGORITHM to open it")
        return False
    secrets = conf.webhook_secrets
    if not secrets:
        _say_closed("WEBHOOK_SECRETS is empty")
        return False
    signature = request.headers.get(conf.webhook_header, "")
    if is_signed(body, signature, secrets, conf.webhook_algorithm):
        return True
    why = "wrong signature" if signature else "no signature"
    logger.warning("webhook.refused: %s", why, extra={"why": why})
    return False


def _say_closed(why: str) -> None:
    logger.error("webhook.closed: %s", why, extra={"why": why})
