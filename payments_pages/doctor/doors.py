"""Examinations of this site's own doors, visited at `SITE_URL` through the network.

A door answers to these visits that there is nothing to do: no row is made, and the service is not
asked.
"""

import json
import re
from typing import Any, Final

from django.conf import settings
from django.urls import reverse
from django.utils.translation import override

from payments_pages.choices import Door
from payments_pages.client import Visit, visit
from payments_pages.conf import conf
from payments_pages.counts import counted
from payments_pages.doctor.findings import Finding, right, unknown, warning, wrong
from payments_pages.doctor.payments import LAST
from payments_pages.exceptions import ServiceError, UnusableKey
from payments_pages.models import Event, Transaction
from payments_pages.redaction import redact
from payments_pages.signatures import ALGORITHMS, sign

__all__ = ["EVENT", "callback", "webhook"]

EVENT: Final = "doctor.visit"
"""The name of an event that is about no payment: the webhook ignores it."""
_OUR_HEADER: Final = ("X-Robots-Tag", "noindex, nofollow")
"""What every door of ours answers with, and hardly anything else."""
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NO_SITE_URL: Final = (
    "SITE_URL is not set, so nothing says where this site is.",
    "Set it to https:// and the name that payers know this site by.",
)
_RESTART: Final = (
    "Restart every process of the site, and compare their environment with this command's."
)
_LOST: Final = (
    "Let the proxy, firewall or CDN in front of the site pass the header on. If nothing there "
    f"removes it, the site runs with another WEBHOOK_HEADER than this command. {_RESTART}"
)
_WRONG: Final = (
    "The header arrives, and the signature in it is wrong there: the site runs with another "
    "WEBHOOK_SECRETS, SECRET_KEY or WEBHOOK_ALGORITHM than this command, or something in front of "
    f"it changes the body. {_RESTART}"
)
_UNDERSCORE: Final = "Most servers drop a header whose name has an underscore: compare the name. "


def callback() -> Finding:
    """Visit the callback as a payer without a reference; our view answers 400."""
    if not conf.site_url:
        return unknown(*_NO_SITE_URL)
    url, query = _address("callback"), f"?{conf.reference_params[0]}="
    try:
        found = visit(url + query, follow=True, limits=conf.limits)
    except ServiceError as error:
        return _unreachable(url, error)
    if found.status != 400 or not _is_ours(found):
        return _of_another(url, found)
    if found.url == url + query:
        return right(f"Payers can come back to {url}.")
    elsewhere = redact(found.url.removesuffix(query))
    if not found.url.endswith(query):
        return wrong(
            f"{url} redirects to {elsewhere} and loses the payment's reference.",
            "Let the redirect keep the query, or set SITE_URL to the address it leads to.",
        )
    return warning(
        f"{url} redirects payers to {elsewhere}.",
        "Set SITE_URL to the address it leads to: a page's return address can never be changed.",
    )


def webhook() -> Finding:
    """Post an event that is about no payment to the webhook: signed by each secret, then unsigned."""
    if not conf.site_url:
        return unknown(*_NO_SITE_URL)
    url = _address("webhook")
    if unusable := _unusable_settings(url):
        return unusable
    secrets = conf.webhook_secrets
    try:
        for number, secret in enumerate(secrets, 1):
            found = _post(url, secret)
            if found.status != 200 or _said(found, "outcome") != "ignored":
                return _not_accepted(url, found, number if len(secrets) > 1 else 0)
        refused = _post(url, "").status == 401
    except ServiceError as error:
        return _unreachable(url, error)
    if not refused:
        return wrong(
            f"{url} takes an event without a signature: something else answers there.",
            "See what stands in front of the site: anybody could send such events.",
        )
    return _accepted(url)


def _unusable_settings(url: str) -> Finding | None:
    """Return what keeps the settings from signing an event; None if nothing does."""
    if not conf.webhook_header or conf.webhook_algorithm not in ALGORITHMS:
        return warning(
            "The webhook is closed: WEBHOOK_HEADER or WEBHOOK_ALGORITHM is not set. What is paid "
            "by a payer who does not come back is delivered late, or not at all.",
            "Set SERVICE, or both as the service's documentation says, and enter "
            f"{url} as the webhook's address in the service's dashboard.",
        )
    if not _HEADER_NAME.fullmatch(conf.webhook_header):
        return wrong(
            "WEBHOOK_HEADER is not the name of a header.", "Copy it from the service's dashboard."
        )
    omit = "Leave WEBHOOK_SECRETS out: then it is the secret key."
    try:
        return None if conf.webhook_secrets else wrong("WEBHOOK_SECRETS is empty.", omit)
    except UnusableKey as error:
        return wrong(str(error), f"Mend it. {omit}")


def _accepted(url: str) -> Finding:
    """Say whether the service itself uses the webhook, by the timeline of the newest payments."""
    seen = f"{url} takes a signed event and refuses an unsigned one."
    keys = Transaction.objects.primary().filter(status="success").order_by("-pk")
    newest = list(keys.values_list("reference_key", flat=True)[:LAST])
    events = Event.objects.primary().filter(door=Door.WEBHOOK, reference_key__in=newest)
    named = events.values("reference_key").distinct().count()
    last = counted(len(newest), "payment")
    if newest and not named:
        return warning(
            f"{seen} But of the last {last} the service has announced none by it.",
            f"Enter {url} as the webhook's address in the service's dashboard, and compare the "
            f"header's name, {conf.webhook_header}, with its documentation.",
        )
    return right(f"{seen} Of the last {last} it announced {named}." if newest else seen)


def _not_accepted(url: str, found: Visit, number: int) -> Finding:
    if found.location:
        return wrong(
            f"{url} redirects to {redact(found.location)}: a redirect loses the event.",
            "Set SITE_URL to the address it leads to, and enter that in the service's dashboard; "
            "or end the redirect for this path.",
        )
    if found.status == 401 and _said(found, "outcome") == "unsigned":
        header = conf.webhook_header
        if _said(found, "detail") == "no signature":
            advice = (_UNDERSCORE if "_" in header else "") + _LOST
            return wrong(f"The header {header} of a signed event does not reach {url}.", advice)
        which = f" by secret number {number} of WEBHOOK_SECRETS" if number else ""
        return wrong(f"{url} refuses an event that is signed{which} in {header}.", _WRONG)
    if found.status == 503 and _said(found, "outcome") == "unavailable":
        return wrong(
            f"{url} cannot check signatures now.",
            "See webhook.no_secrets in the site's log: the secrets cannot be read there.",
        )
    return _of_another(url, found)


def _post(url: str, secret: str) -> Visit:
    """Post the event, signed by a secret; "" leaves it unsigned."""
    body = json.dumps({"event": EVENT, "data": {}}).encode()
    headers = {"Content-Type": "application/json"}
    if secret:
        headers[conf.webhook_header] = sign(body, secret, conf.webhook_algorithm)
    return visit(url, method="POST", body=body, headers=headers, limits=conf.limits)


def _said(found: Visit, name: str) -> str:
    """Return a value of a JSON answer as text, or ""."""
    try:
        payload: Any = json.loads(found.body)
    except (ValueError, RecursionError):
        return ""
    return str(payload.get(name, "")) if isinstance(payload, dict) else ""


def _is_ours(found: Visit) -> bool:
    name, value = _OUR_HEADER
    return found.headers.get(name) == value


def _of_another(url: str, found: Visit) -> Finding:
    """Say that not our view answered, and what that status most often comes of."""
    advice = {
        400: "Add the host to ALLOWED_HOSTS, or see what the proxy changes in the request.",
        401: "Let everybody open this path: payers and the service have no login here.",
        403: "Let everybody open this path: see firewall, CDN and middleware.",
        404: "Include payments_pages.urls, and see under which path the proxy passes them on.",
        405: "Let GET and POST through to this path: see what stands in front of the site.",
    }
    log = "See the site's log, and whether another site answers at SITE_URL."
    return wrong(
        f"{url} answers {found.status}, and not by payments_pages.", advice.get(found.status, log)
    )


def _unreachable(url: str, error: ServiceError) -> Finding:
    # The sentence was written for calls to the service; here it is about this site.
    why = str(error)
    for words, others in (("The service's", "Its"), ("The service", "It"), (" to the service", "")):
        why = why.replace(words, others)
    return wrong(
        f"{url} gives no answer to this machine. {why}",
        "See whether the site runs, and whether SITE_URL, DNS and the certificate are right. If "
        "this machine may not connect to its own public address, run the doctor on another one.",
    )


def _address(name: str) -> str:
    """Return the address of a door, in the language that pages are made with."""
    with override(settings.LANGUAGE_CODE):
        return conf.site_url + reverse(f"payments_pages:{name}")
