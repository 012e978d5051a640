"""Send this site a webhook as the service would."""

import json
from collections.abc import Mapping
from typing import Any, cast

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from payments_pages.conf import conf
from payments_pages.signatures import sign

__all__ = ["send_webhook"]


def send_webhook(
    reference: str,
    event: str = "charge.success",
    *,
    client: Client | None = None,
    signature: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Sign an event with this site's own settings and post it to its webhook; return the answer.

    `signature` replaces the right one; `data` is added to what the event carries beside the
    reference. The body decides nothing: make the transaction at the sandbox first.
    """
    name = "transaction_reference" if event.startswith("refund.") else "reference"
    body = json.dumps({"event": event, "data": {name: reference, **(data or {})}}).encode()
    if signature is None:
        signature = sign(body, conf.webhook_secrets[0], conf.webhook_algorithm)
    response = (client or Client()).post(
        reverse("payments_pages:webhook"),
        data=body,
        content_type="application/json",
        headers={conf.webhook_header: signature},
        secure=True,
    )
    return cast("HttpResponse", response)
