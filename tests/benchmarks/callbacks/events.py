"""Make signed webhooks, in the words and with the signature that each site expects."""

import hashlib
import hmac
import json
import time
from typing import Any

from tests.benchmarks.callbacks.load import Request
from tests.benchmarks.callbacks.servers import Site

__all__ = ["KEY", "webhook_request"]

KEY = "sk_test_bench"


def webhook_request(site: Site, reference: str) -> Request:
    """Return the webhook that tells this site of one payment."""
    if site.signature == "stripe":
        return _stripe(site, reference)
    body = json.dumps({"event": "charge.success", "data": _data(reference)}).encode()
    header = "x-signature" if site.signature == "sha256" else "x-paystack-signature"
    signature = hmac.new(KEY.encode(), body, site.signature).hexdigest()
    return _post(site, body, header, signature)


def _stripe(site: Site, reference: str) -> Request:
    """Return the event of another service: the only ones that dj-stripe takes."""
    payment = {"id": f"pi_{reference}", "object": "payment_intent", "status": "succeeded"}
    event = {
        "id": f"evt_{reference}",
        "object": "event",
        "api_version": "2020-08-27",
        "created": int(time.time()),
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": "payment_intent.succeeded",
        "data": {"object": payment | {"metadata": {"reference": reference}}},
    }
    body = json.dumps(event).encode()
    now = int(time.time())
    signed = hmac.new(b"whsec_bench", f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    return _post(site, body, "stripe-signature", f"t={now},v1={signed}")


def _post(site: Site, body: bytes, header: str, signature: str) -> Request:
    headers = ((header, signature), ("Content-Type", "application/json"))
    return Request(site.webhook, method="POST", headers=headers, body=body)


def _data(reference: str) -> dict[str, Any]:
    """Return what these services tell about a payment in an event."""
    return {
        "id": 690075001,
        "domain": "test",
        "status": "success",
        "reference": reference,
        "amount": 10000,
        "currency": "ILS",
        "channel": "card",
        "gateway_response": "Successful",
        "paid_at": "2026-11-28T02:01:50.907Z",
        "created_at": "2026-11-28T02:01:50.907Z",
        "metadata": "",
        "fees": 100,
        "customer": {"id": 1, "email": "payer@example.test", "customer_code": "CUS_1"},
        "authorization": {"channel": "card", "last4": "1000", "reusable": False},
    }
