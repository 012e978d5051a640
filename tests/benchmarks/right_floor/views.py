"""Take a payer or an event to the one place where a payment is confirmed."""

import hashlib
import hmac
import json

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.csrf import csrf_exempt

from tests.benchmarks.right_floor.payments import confirm


def callback(request: HttpRequest) -> HttpResponse:
    """Confirm, redirect."""
    is_delivered = confirm(request.GET["reference"])
    return HttpResponseRedirect("/thanks/" if is_delivered else "/wait/")


@csrf_exempt
def webhook(request: HttpRequest) -> HttpResponse:
    """Check the signature, confirm; an event that delivered nothing is sent again."""
    signature = hmac.new(settings.FLOOR_KEY.encode(), request.body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signature, request.headers.get("x-signature", "")):
        return HttpResponse(status=401)
    is_delivered = confirm(json.loads(request.body)["data"]["reference"])
    return HttpResponse(status=200 if is_delivered else 503)
