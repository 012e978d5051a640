"""What the right floor remembers of a payment, in one row."""

from django.db import models


class Payment(models.Model):
    """A payment: claimed to be asked about, and then delivered or not."""

    reference = models.CharField(max_length=128, primary_key=True)
    claimed_until = models.FloatField()
    """Seconds of Unix time, by the database's clock; after it anybody may ask again."""
    claim = models.UUIDField()
    status = models.CharField(max_length=32, default="", db_default="")
    amount = models.BigIntegerField(null=True)
    currency = models.CharField(max_length=3, default="", db_default="")
    answer = models.TextField(default="", db_default="")
    delivered = models.BooleanField(default=False, db_default=False)

    def __str__(self) -> str:
        return self.reference
