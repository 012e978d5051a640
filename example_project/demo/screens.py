"""Name the screens of a shop that has its history, each with its address.

The pictures of the docs and the tests that walk every screen go by this list.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from example_project.demo.history.fates import DRIFTING, ELSEWHERE, INACTIVE, LOST, UNCONFIRMED
from example_project.demo.history.telling import SERVICE_DOWN, UNKNOWN
from example_project.demo.history.troubles import FAILS
from payments_pages.models import PaymentPage, SavedCard, Transaction, Verification

__all__ = ["Screen", "admin_screens", "payer_screens"]

_ADMIN = "admin:payments_pages"
PAGES = {
    "page": "photo-archive",
    "page-second": "oud-evening",
    "page-drift": DRIFTING,
    "page-inactive": INACTIVE,
    "page-missing": LOST,
    "page-elsewhere": ELSEWHERE,
    "page-unconfirmed": UNCONFIRMED,
}
PAYMENTS = {
    "payment-delivered": "demo-with-an-answer",
    "payment-held": "demo-paid-too-little",
    "payment-for-no-page": "demo-for-no-page",
    "payment-off-sale": "demo-off-sale",
    "payment-other-site": "demo-another-site",
    "payment-taken-back": "demo-taken-back",
    "payment-failed": FAILS,
    "payment-given-up": "demo-attempts-spent",
    "payment-rejected": "demo-rejected",
    "payment-reversed": "demo-reversed",
    "payment-declined": "demo-declined",
}
ACTIONS = {
    "verify": "demo-pending",
    "retry": FAILS,
    "approve": "demo-paid-too-little",
    "reject": "demo-other-currency",
    "attribute": "demo-for-no-page",
    "note": "demo-with-an-answer",
}
RESULTS = {
    "paid": "demo-with-an-answer",
    "checking": "demo-paid-too-little",
    "processing": "demo-pending",
    "not-paid": "demo-declined",
}


@dataclass(frozen=True, slots=True)
class Screen:
    """Be one screen: a name for files and messages, and a path on the site."""

    name: str
    path: str


def admin_screens() -> Iterator[Screen]:
    """Yield every kind of screen that staff may open in the app's part of the admin."""
    yield Screen("index", reverse("admin:app_list", args=["payments_pages"]))
    yield Screen("pages", reverse(f"{_ADMIN}_paymentpage_changelist"))
    yield Screen("page-add", reverse(f"{_ADMIN}_paymentpage_add"))
    original = PaymentPage.objects.get(slug=PAGES["page"])
    yield Screen("page-like", _query(reverse(f"{_ADMIN}_paymentpage_add"), like=str(original.pk)))
    yield Screen(
        "pages-none-found", _query(reverse(f"{_ADMIN}_paymentpage_changelist"), q="no such page")
    )
    for name, slug in PAGES.items():
        page = PaymentPage.objects.get(slug=slug)
        yield Screen(name, reverse(f"{_ADMIN}_paymentpage_change", args=[page.pk]))
    yield Screen("payments", reverse(f"{_ADMIN}_transaction_changelist"))
    yield Screen(
        "payments-held",
        _query(reverse(f"{_ADMIN}_transaction_changelist"), fulfilment__state__exact="held"),
    )
    for name, reference in PAYMENTS.items():
        yield Screen(name, _of_transaction("change", reference))
    for name, reference in ACTIONS.items():
        yield Screen(f"action-{name}", _of_transaction(name, reference))
    yield Screen("verify-by-hand", reverse(f"{_ADMIN}_transaction_verify_reference"))
    yield Screen("references", reverse(f"{_ADMIN}_verification_changelist"))
    yield Screen("cards", reverse(f"{_ADMIN}_savedcard_changelist"))
    card = SavedCard.objects.latest("pk")
    yield Screen("card", reverse(f"{_ADMIN}_savedcard_change", args=[card.pk]))
    for name, reference in (("reference-down", SERVICE_DOWN), ("reference-unknown", UNKNOWN)):
        row = Verification.objects.get(reference=reference)
        yield Screen(name, reverse(f"{_ADMIN}_verification_change", args=[row.pk]))


def payer_screens() -> Iterator[Screen]:
    """Yield what payers see: the shop, and a result page for each outcome."""
    yield Screen("shop", reverse("storefront"))
    for name, reference in RESULTS.items():
        token = Transaction.objects.get(reference=reference).token
        yield Screen(f"result-{name}", reverse("payments_pages:result", args=[token]))
    callback = reverse("payments_pages:callback")
    yield Screen("result-unavailable", _query(callback, reference=SERVICE_DOWN))
    yield Screen("result-unknown", _query(callback, reference=UNKNOWN))


def _of_transaction(name: str, reference: str) -> str:
    payment = Transaction.objects.get(reference=reference)
    return reverse(f"{_ADMIN}_transaction_{name}", args=[payment.pk])


def _query(path: str, **parameters: str) -> str:
    return f"{path}?{urlencode(parameters)}"
