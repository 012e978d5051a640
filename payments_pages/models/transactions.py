"""Payments, as the service describes them."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import Attributed
from payments_pages.client import NAME_LENGTH, PHONE_DIGITS, read_answers
from payments_pages.db import CaseBlindIndex
from payments_pages.models.expected import ExpectedPayment
from payments_pages.models.pages import PaymentPage
from payments_pages.models.querysets import LoadsDeferredTogether, PrimaryQuerySet

__all__ = ["Transaction"]


_LEFT_OUT = _("Empty, {}, if the service left it out or sent null.")


class TransactionQuerySet(PrimaryQuerySet["Transaction"]):
    """Transactions, read from the primary database."""


class Transaction(LoadsDeferredTogether):
    """One verified transaction; fields have the service's names, amounts are minor units.

    What the service leaves out, or sends as null, is stored as "" in a text, as {} in `log`,
    `authorization`, `customer` and `unreadable`, and as None in the other fields.

    `status` is text, and any value is stored. `unreadable` has, as text, each value that did not
    fit its column: a strange value never loses a payment (docs/cases.md C44, C45). The card's reusable
    code is never stored.
    """

    reference = models.CharField(_("reference"), max_length=128)
    reference_key = models.CharField(max_length=64, editable=False)
    token = models.UUIDField(_("result token"), default=uuid.uuid4, unique=True, editable=False)
    remote_id = models.BigIntegerField(_("number at the service"), null=True)
    domain = models.CharField(_("mode"), max_length=16, blank=True)
    status = models.CharField(_("payment status"), max_length=64)
    amount = models.BigIntegerField(_("amount"), null=True)
    currency = models.CharField(_("currency"), max_length=16, blank=True)
    fees = models.BigIntegerField(_("fees"), null=True)
    message = models.TextField(_("message"), blank=True)
    gateway_response = models.TextField(_("gateway response"), blank=True)
    channel = models.CharField(_("channel"), max_length=64, blank=True)
    ip_address = models.CharField(_("IP address"), max_length=64, blank=True)
    customer_email = models.CharField(_("customer's e-mail"), max_length=320, blank=True)
    # Of `customer` and `authorization`, for the search of staff (`client.payer_terms`).
    customer_name = models.CharField(max_length=NAME_LENGTH, blank=True, editable=False)
    customer_last_name = models.CharField(max_length=NAME_LENGTH, blank=True, editable=False)
    customer_phone_end = models.CharField(max_length=PHONE_DIGITS, blank=True, editable=False)
    card_last4 = models.CharField(max_length=4, blank=True, editable=False)
    paid_at = models.DateTimeField(_("paid at"), null=True)
    created_at = models.DateTimeField(_("created at"), null=True)
    metadata = models.JSONField(
        _("metadata"), null=True, help_text=_("None (null) if the service left it out.")
    )
    log = models.JSONField(_("log"), default=dict, help_text=_LEFT_OUT)
    authorization = models.JSONField(_("authorization"), default=dict, help_text=_LEFT_OUT)
    customer = models.JSONField(_("customer"), default=dict, help_text=_LEFT_OUT)
    unreadable = models.JSONField(_("unreadable fields"), default=dict)
    page = models.ForeignKey(
        PaymentPage,
        verbose_name=_("payment page"),
        on_delete=models.PROTECT,
        related_name="transactions",
        null=True,
        db_index=False,  # two of our own begin with it
    )
    expected_payment = models.ForeignKey(
        ExpectedPayment,
        verbose_name=_("expected payment"),
        on_delete=models.PROTECT,
        related_name="transactions",
        null=True,
    )
    attributed_by = models.CharField(
        _("attributed by"), max_length=16, choices=Attributed, default=Attributed.NONE, blank=True
    )
    verified_at = models.DateTimeField(_("verified at"))

    objects = TransactionQuerySet.as_manager()

    class Meta:
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        # Not `unique=True`: on PostgreSQL that adds a second index, for LIKE, which nobody asks.
        constraints = [models.UniqueConstraint(fields=["reference_key"], name="pp_transaction_key")]
        # Each order that a list offers, and each filter with the newest first, is an index's: of
        # a million rows one page is read. `id` stands in each, for PostgreSQL has no other way.
        indexes = [
            models.Index(fields=["paid_at", "id"], name="pp_transaction_paid"),
            models.Index(
                fields=["status", "domain", "-paid_at", "currency", "amount"],
                name="pp_transaction_totals",
            ),
            models.Index(fields=["status", "id"], name="pp_transaction_status"),
            models.Index(fields=["currency", "id"], name="pp_transaction_currency"),
            models.Index(fields=["domain", "id"], name="pp_transaction_mode"),
            models.Index(fields=["page", "id"], name="pp_transaction_of_page"),
            models.Index(fields=["page", "-paid_at"], name="pp_transaction_page"),
            CaseBlindIndex(fields=["reference"], name="pp_transaction_reference"),
            CaseBlindIndex(fields=["customer_email"], name="pp_transaction_email"),
            CaseBlindIndex(fields=["customer_name"], name="pp_transaction_name"),
            CaseBlindIndex(fields=["customer_last_name"], name="pp_transaction_last_name"),
            models.Index(fields=["customer_phone_end", "id"], name="pp_transaction_phone"),
            models.Index(fields=["card_last4", "id"], name="pp_transaction_last4"),
        ]
        permissions = [
            ("verify_transaction", _("Can ask the service about a reference")),
            ("attribute_transaction", _("Can say which page a transaction pays for")),
            ("note_transaction", _("Can write notes about a transaction")),
            ("export_transaction", _("Can export transactions")),
            ("view_customer_details", _("Can see customers' details")),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def answers(self) -> dict[str, str]:
        """What the payer typed into the page's questions, by label; `{}` if nothing is known.

        The metadata is the payer's word: of any shape, and never proof of anything. Reads the page
        if it is not loaded yet. `client.read_answers` says how labels are made.
        """
        if not self.metadata:
            return {}
        page = self.page
        return read_answers(self.metadata, page.custom_fields if page is not None else None)
