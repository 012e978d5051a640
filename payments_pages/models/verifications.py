"""References that the service must be asked about: the inbox."""

from typing import Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import Door, VerificationState
from payments_pages.models.querysets import DueQuerySet

__all__ = ["Verification", "VerificationQuerySet"]


class VerificationQuerySet(DueQuerySet["Verification"]):
    """References, and those of them that must be asked about."""

    open_states = VerificationState.open()

    def overrun(self) -> Self:
        """Return the references whose last attempt takes longer than its lease, the oldest first.

        Either a process has died, and the next sweep asks; or a handler hangs that delivers in the
        transaction of the record.
        """
        return self.due().filter(state=VerificationState.VERIFYING)


class Verification(models.Model):
    """The work of asking about one reference until the service says success, or time is up.

    - `attempts` is the fence: it only rises, and only the latest attempt may write its answer.
    - `next_at` is the next attempt or, while `verifying`, the end of the lease.
    - `named_attempt` and `refresh_attempt` are the value of `attempts` when a trusted caller last
      named the reference, and last asked for a refresh. The answers of these and earlier attempts
      are older than what this caller knows.
    """

    NOT_RECORDED = "Not recorded"
    """The start of `last_error` if an answer came and could not be saved."""

    reference = models.CharField(_("reference"), max_length=128)
    reference_key = models.CharField(max_length=64, editable=False)
    mode = models.CharField(_("mode"), max_length=8)
    state = models.CharField(_("state"), max_length=16, choices=VerificationState)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    next_at = models.DateTimeField(_("next ask"), null=True)
    asked_at = models.DateTimeField(_("last asked"), null=True)
    # The schedule starts when a trusted caller last named the reference.
    named_at = models.DateTimeField(_("last named"), default=timezone.now)
    named_attempt = models.PositiveIntegerField(default=0, editable=False)
    refresh_attempt = models.PositiveIntegerField(default=0, editable=False)
    signed_success_at = models.DateTimeField(_("signed success"), null=True, editable=False)
    first_door = models.CharField(_("came by"), max_length=16, choices=Door)
    vouched = models.BooleanField(
        _("named by a trusted source"),
        default=False,
        help_text=_("Staff, the merchant's own code or a signed webhook named this reference."),
    )
    said_paid = models.BooleanField(
        _("said to be paid"),
        default=False,
        editable=False,
        help_text=_("Staff, the merchant's own code, a signed webhook or the payer said so."),
    )
    page_claim = models.UUIDField(
        _("claimed page"),
        null=True,
        editable=False,
        help_text=_(
            "The token in the callback that the payer came back by; the first that fits stays."
        ),
    )
    last_error = models.TextField(_("last error"), blank=True)
    created_at = models.DateTimeField(_("first seen"), default=timezone.now)

    objects = VerificationQuerySet.as_manager()

    class Meta:
        verbose_name = _("reference")
        verbose_name_plural = _("references")
        # Not `unique=True`: on PostgreSQL that adds a second index, for LIKE, which nobody asks.
        constraints = [
            models.UniqueConstraint(fields=["reference_key"], name="pp_verification_key")
        ]
        indexes = [
            models.Index(fields=["state", "next_at"], name="pp_verification_due"),
            models.Index(fields=["state", "id"], name="pp_verification_state"),
            models.Index(fields=["created_at", "id"], name="pp_verification_created"),
            models.Index(fields=["reference"], name="pp_verification_reference"),
        ]

    def __str__(self) -> str:
        return self.reference
