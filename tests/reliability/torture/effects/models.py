"""Append-only tables: nothing in them is unique, so that a double can show."""

from django.db import models

__all__ = ["Change", "Effect", "Mark"]


class Effect(models.Model):
    """Say that the value was given: written by the handler, in its transaction."""

    reference = models.CharField(max_length=128)
    key = models.CharField(max_length=36)
    attempt = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.reference}, attempt {self.attempt}"


class Mark(models.Model):
    """Note "done", as the wrong ways of the controls do."""

    reference = models.CharField(max_length=128, unique=True)

    def __str__(self) -> str:
        return self.reference


class Change(models.Model):
    """Say that a row of the package was changed: written by a trigger, whoever changed it.

    `deed` is the statement's: INSERT, UPDATE or DELETE.
    """

    kind = models.CharField(max_length=16)
    deed = models.CharField(max_length=6)
    reference_key = models.CharField(max_length=64)
    state_before = models.CharField(max_length=64)
    state_after = models.CharField(max_length=64)
    attempts_before = models.IntegerField()
    attempts_after = models.IntegerField()

    def __str__(self) -> str:
        attempts = f"attempts {self.attempts_before} → {self.attempts_after}"
        return f"{self.kind} {self.deed} {self.state_before} → {self.state_after}, {attempts}"
