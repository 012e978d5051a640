"""The result pages of payers, in the language of the reader."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import translation

from payments_pages.amounts import amount_text
from payments_pages.choices import Mode, Outcome
from payments_pages.confirmation import Confirmation
from payments_pages.models import PaymentPage, Transaction
from payments_pages.pages import public_url
from payments_pages.views.dates import in_words
from payments_pages.views.languages import choose_language, language_links, with_language
from payments_pages.views.merchant import merchant_context
from payments_pages.views.policy import nonce_of

__all__ = ["PAGES", "RETURNED", "page_of", "render_result"]

PAGES = {
    Outcome.DELIVERED: "paid",
    Outcome.ALREADY_DELIVERED: "paid",
    Outcome.DELIVERING: "preparing",
    Outcome.DELIVERY_FAILED: "preparing",
    Outcome.PENDING: "processing",
    Outcome.HELD: "checking",
    Outcome.REJECTED: "rejected",
    Outcome.NOT_PAID: "not_paid",
    Outcome.UNKNOWN: "unknown",
    Outcome.UNAVAILABLE: "unavailable",
}
"""The name of the result page (and of its template) of each outcome."""

RETURNED = "returned"
"""The page of a payment that was reversed, whatever had become of it before."""


MAY_CHANGE = frozenset({"processing", "preparing", "checking"})
"""Pages whose script asks now and then whether they are still true."""


PAID = frozenset({"paid", "preparing", "checking", "rejected", RETURNED})
"""Pages that say that the money arrived; only they show when it did."""


def page_of(confirmation: Confirmation) -> str:
    """Return the name of the page that says what is true about a payment now."""
    found = confirmation.transaction
    if found is not None and found.status == "reversed":
        return RETURNED
    return PAGES[confirmation.outcome]


def render_result(
    request: HttpRequest,
    page: str,
    *,
    status: int = HTTPStatus.OK,
    retry_url: str = "",
    status_url: str = "",
    confirmation: Confirmation | None = None,
    by_path: bool = False,
    may_have_paid: bool = False,
) -> HttpResponse:
    """Return one of the nine pages.

    - `retry_url`: the link by which the payer asks for the state again.
    - `status_url`: the URL that the page's script requests to see whether the state changed.
    - `by_path`: the language of the path counts, as at `/ar/…` under `i18n_patterns()`.
    - `may_have_paid`: the payer may come from the service, although the reference says nothing.

    The context has no personal data, except the page's name and the reference.
    """
    language = choose_language(request, by_path=by_path)
    found = confirmation.transaction if confirmation else None
    reference = confirmation.reference if confirmation else ""
    with translation.override(language):
        context = {
            "page": page,
            "again": with_language(retry_url, request) if retry_url else "",
            "watch": status_url if page in MAY_CHANGE else "",
            "reference": reference,
            "may_have_paid": may_have_paid,
            "languages": list(language_links(request, language)),
            "csp_nonce": nonce_of(request),
            **merchant_context(language, reference, found),
            **_payment(found, is_paid=page in PAID),
        }
        text = render_to_string(f"payments_pages/{page}.html", context, request)
    response = HttpResponse(text, status=status)
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language, Cookie"
    return response


def _payment(transaction: Transaction | None, *, is_paid: bool) -> dict[str, object]:
    """Return the context of the payment; `amount` is already a text with its currency."""
    if transaction is None:
        return {"test": False}
    page: PaymentPage | None = transaction.page
    paid_at_text = in_words(transaction.paid_at if is_paid else None)
    return {
        "amount": amount_text(transaction.amount, transaction.currency),
        # Without words there is no time that a template could show.
        "paid_at": transaction.paid_at if paid_at_text else None,
        "paid_at_text": paid_at_text,
        "page_name": page.name if page else "",
        "try_again": public_url(page) if page and page.active else "",
        "test": transaction.domain == Mode.TEST,
    }
