"""Sign and post events as the service does, without a network between."""

import json
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from payments_pages.signatures import sign

__all__ = ["HEADER", "SECRET", "event", "post", "said"]

SECRET = "whsec_test_0001"
HEADER = "X-Lahza-Signature"


def event(reference: str, kind: str = "charge.success", **data: Any) -> bytes:
    """Write the body of an event about one reference."""
    return json.dumps({"event": kind, "data": {"reference": reference, **data}}).encode()


def post(
    body: bytes,
    *,
    client: Client | None = None,
    signature: str | None = None,
    header: str = HEADER,
    content_type: str = "application/json",
    path: str = "",
    **more: Any,
) -> HttpResponse:
    """Post bytes to the webhook, by default well signed; `signature=""` sends no header."""
    made = sign(body, SECRET, "sha256") if signature is None else signature
    headers = {**more.pop("headers", {}), **({header: made} if made else {})}
    response: HttpResponse = (client or Client()).post(
        path or reverse("payments_pages:webhook"),
        data=body,
        content_type=content_type,
        headers=headers,
        **more,
    )
    return response


def said(response: HttpResponse) -> dict[str, Any]:
    """Read an answer's JSON."""
    answer: dict[str, Any] = json.loads(response.content)
    return answer
