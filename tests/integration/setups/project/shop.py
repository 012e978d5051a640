"""The site's own views: one takes an order, the others confirm what an app or popup hands over."""

import json
import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment, confirm_payment_on_commit
from payments_pages.models import ExpectedPayment
from payments_pages.pages import create_page

__all__ = ["PRICE", "urlpatterns"]

PRICE = 12050
"""Minor units of ILS."""


def front(request: HttpRequest) -> HttpResponse:
    """Show the front page, which is another one each time it is made."""
    return HttpResponse(f"Welcome. {uuid.uuid4()}")


@csrf_exempt
@login_not_required
def order(request: HttpRequest) -> JsonResponse:
    """Expect a payment, and tell its reference."""
    expected = ExpectedPayment.objects.expect(amount=PRICE, currency="ILS")
    return JsonResponse({"reference": expected.reference})


@csrf_exempt
@login_not_required
def offer(request: HttpRequest) -> JsonResponse:
    """Make a page, as code does on a site without an admin."""
    page = create_page(name="Tea box", amount=PRICE, slug=json.loads(request.body)["slug"])
    return JsonResponse({"callback": page.redirect_url})


def _confirm(reference: str) -> dict[str, Any]:
    found = confirm_payment(reference, door=Door.CONFIRM, vouched=True)
    return {"outcome": found.outcome}


@csrf_exempt
@login_not_required
def confirm_in_view(request: HttpRequest) -> JsonResponse:
    return JsonResponse(_confirm(json.loads(request.body)["reference"]))


@csrf_exempt
@login_not_required
async def confirm_in_async_view(request: HttpRequest) -> JsonResponse:
    reference = json.loads(request.body)["reference"]
    return JsonResponse(await sync_to_async(_confirm)(reference))


@csrf_exempt
@login_not_required
def confirm_after_request(request: HttpRequest) -> JsonResponse:
    """Confirm once the transaction of this request has committed."""
    assert connection.in_atomic_block
    confirm_payment_on_commit(json.loads(request.body)["reference"])
    return JsonResponse({"outcome": "noted"})


urlpatterns = [
    path("", front),
    path("order/", order),
    path("offer/", offer),
    path("confirm/", confirm_in_view),
    path("confirm-async/", confirm_in_async_view),
    path("confirm-later/", confirm_after_request),
]
