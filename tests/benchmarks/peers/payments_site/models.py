"""The merchant's payment, as the documentation has it."""

from django.db import models
from payments.models import BasePayment


class Payment(BasePayment):
    """Be one payment; found by its token, which the documentation leaves without an index."""

    def get_success_url(self) -> str:
        """Return where the payer goes."""
        return "/done/"

    def get_failure_url(self) -> str:
        """Return where the payer goes otherwise."""
        return "/failed/"

    class Meta:
        app_label = "payments_site"
        # Not in the documentation: without it, its look-up reads the whole table.
        indexes = [models.Index(fields=["token"], name="payment_token")]
