"""Ask the service when a payer comes back, and tell django-payments what it said."""

from decimal import Decimal
from typing import Any

import requests
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from payments import PaymentError, PaymentStatus
from payments.core import BasicProvider


class PagesProvider(BasicProvider):
    """Verify by reference; the payment's token is the reference."""

    def __init__(self, service: str, key: str, **named: Any) -> None:
        super().__init__(**named)
        self.service = service
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {key}"

    def process_data(self, payment: Any, request: HttpRequest) -> HttpResponse:
        """Take a payer who comes back: nothing is asked about what is confirmed already."""
        if payment.status == PaymentStatus.CONFIRMED:
            return HttpResponseRedirect(payment.get_success_url())
        reference = request.GET["reference"]
        answer = self.session.get(f"{self.service}/transaction/verify/{reference}", timeout=8)
        body = answer.json()
        if body.get("status") is not True:
            raise PaymentError("The payment could not be verified.")
        data = body["data"]
        paid = Decimal(data["amount"]) / 100
        if data["status"] != "success" or paid < Decimal(payment.total):
            payment.change_status(PaymentStatus.REJECTED)
            return HttpResponseRedirect(payment.get_failure_url())
        payment.captured_amount = paid
        payment.change_status(PaymentStatus.CONFIRMED)
        return HttpResponseRedirect(payment.get_success_url())
