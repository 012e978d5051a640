from django.db import models


class Good(models.Model):
    """One run of the handler. No unique column: a double must be able to show."""

    reference = models.CharField(max_length=128)
    key = models.UUIDField()
    attempt = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.reference}, attempt {self.attempt}"
