"""The models: fields, constraints and querysets, and nothing that acts.

Three rows with one key answer three questions: are we still asking (`Verification`), what did the
service say (`Transaction`), has the handler delivered (`Fulfilment`)?
"""

from payments_pages.models.cards import SavedCard, read_owners
from payments_pages.models.digests import Digest
from payments_pages.models.events import Event
from payments_pages.models.expected import ExpectedPayment
from payments_pages.models.fulfilments import Fulfilment, FulfilmentQuerySet, fulfilment_of
from payments_pages.models.kept_days import KeptDay, KeptDayQuerySet, LateChange
from payments_pages.models.ownership import ELSEWHERE, is_site_known, sold_here, this_site
from payments_pages.models.pages import PaymentPage
from payments_pages.models.querysets import primary_alias
from payments_pages.models.sites import SiteBinding
from payments_pages.models.transactions import Transaction
from payments_pages.models.verifications import Verification, VerificationQuerySet

__all__ = [
    "ELSEWHERE",
    "Digest",
    "Event",
    "ExpectedPayment",
    "Fulfilment",
    "FulfilmentQuerySet",
    "KeptDay",
    "KeptDayQuerySet",
    "LateChange",
    "PaymentPage",
    "SavedCard",
    "SiteBinding",
    "Transaction",
    "Verification",
    "VerificationQuerySet",
    "fulfilment_of",
    "is_site_known",
    "primary_alias",
    "read_owners",
    "sold_here",
    "this_site",
]
