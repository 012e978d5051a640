"""What is sold: one row for each delivery, with nothing to stop a second one."""

from django.db import models


class Good(models.Model):
    """Be the value of one payment, given."""

    reference = models.CharField(max_length=128)

    def __str__(self) -> str:
        return self.reference
