"""Take payers who come back, as the package's quick start says."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from djpaystack import PaystackClient
from djpaystack.models import PaystackTransaction

from tests.benchmarks.callbacks.site.models import Good

client = PaystackClient()


def callback(request: HttpRequest) -> HttpResponse:
    """Verify, and on success update the database."""
    transaction = PaystackTransaction.objects.get(reference=request.GET["reference"])
    if transaction.status == "success":
        return HttpResponseRedirect("/done/")
    verified = client.transactions.verify(reference=transaction.reference)
    if verified["data"]["status"] != "success" or verified["data"]["amount"] < transaction.amount:
        return HttpResponseRedirect("/failed/")
    transaction.status = "success"
    transaction.save(update_fields=["status"])
    Good.objects.create(reference=transaction.reference)
    return HttpResponseRedirect("/done/")
