"""The timeline. Lines are only appended; nothing depends on them."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import Door, EventKind
from payments_pages.models.querysets import PrimaryQuerySet

__all__ = ["Event"]


class EventQuerySet(PrimaryQuerySet["Event"]):
    """The timeline, read from the primary database."""


class Event(models.Model):
    """Something that happened to a reference. `detail` has no data of the payer."""

    reference_key = models.CharField(max_length=64)
    happened_at = models.DateTimeField(_("time"), default=timezone.now)
    kind = models.CharField(_("what"), max_length=32, choices=EventKind)
    door = models.CharField(_("door"), max_length=16, choices=Door)
    actor = models.CharField(_("who"), max_length=150, blank=True)
    detail = models.TextField(_("detail"), blank=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        indexes = [models.Index(fields=["reference_key", "id"], name="pp_event_reference")]

    def __str__(self) -> str:
        return f"{self.happened_at:%Y-%m-%d %H:%M:%S} {self.kind}"
