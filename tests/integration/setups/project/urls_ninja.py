"""The URLs of a site with Django Ninja."""

from django.http import HttpRequest
from django.urls import path
from ninja import NinjaAPI, Schema

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from tests.integration.setups.project.urls import urlpatterns as usual

api = NinjaAPI(docs_url=None)


class Payment(Schema):
    reference: str


@api.post("/confirm")
def confirm(request: HttpRequest, payment: Payment) -> dict[str, str]:
    found = confirm_payment(payment.reference, door=Door.CONFIRM, vouched=True)
    return {"outcome": found.outcome}


urlpatterns = [*usual, path("api/", api.urls)]
