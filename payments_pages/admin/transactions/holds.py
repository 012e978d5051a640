"""Explain a hold: what was expected and what came, and what staff can do about it."""

from collections.abc import Mapping
from typing import Final

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.formats import (
    format_sentence,
    format_time,
    ltr,
    mode_name,
    money,
    page_name,
    paid_of,
    price_of,
    quoted,
)
from payments_pages.choices import Attributed, Reason
from payments_pages.conf import conf
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.staff import may_attribute

__all__ = ["advice_of", "facts_of"]

_ADVICE: Final[Mapping[str, object]] = {
    Reason.UNATTRIBUTED: gettext_lazy(
        "If you know what it is for, attribute it to that page. If the payer comes back by the "
        "page's own address, that happens by itself."
    ),
    Reason.MODE_MISMATCH: gettext_lazy(
        "It cannot be approved: once MODE is set right, the same payment would be delivered a "
        "second time. If MODE is wrong, have it set right and ask the service again; that delivers "
        "it. Then, or if MODE is right, reject this one."
    ),
    Reason.PAGE_NOT_ON_SALE: gettext_lazy(
        "Approve it if you give what was paid for all the same, or reject it and refund the payer. "
        "If the page goes on sale again, the hold ends by itself."
    ),
    Reason.OTHER_SITE: gettext_lazy(
        "There is nothing to do: the site that sells the page delivers it. If this site sells it, "
        "say so on the page’s own form; the hold then ends by itself."
    ),
    Reason.CURRENCY_MISMATCH: gettext_lazy(
        "Reject it and refund the payer, or approve it if you take this payment all the same."
    ),
    Reason.AMOUNT_INVALID: gettext_lazy(
        "Look the payment up at the service. If the money is there, approve it; if not, reject it."
    ),
    Reason.AMOUNT_MISMATCH: gettext_lazy(
        "Ask the payer for the rest and approve it then, or reject it and refund them."
    ),
    Reason.ATTRIBUTION_CONFLICT: gettext_lazy(
        "Find out what the payer wanted. Approving delivers what the first account says."
    ),
    Reason.DUPLICATE_PAYMENT: gettext_lazy(
        "Most likely the payer paid twice: reject it and refund this payment."
    ),
    Reason.NOT_SUCCESS: gettext_lazy(
        "The money went back to the payer, so nothing is owed for it: reject it to close it."
    ),
    Reason.ATTEMPTS_SPENT: gettext_lazy("Have the cause seen to, then try the delivery again."),
    Reason.PERMANENT_ERROR: gettext_lazy(
        "If the cause can be removed, try the delivery again then; else reject it and refund "
        "the payer."
    ),
}


def advice_of(transaction: Transaction, fulfilment: Fulfilment) -> tuple[str, ...]:
    """Say what staff can do about a hold, whatever of it they themselves are permitted to."""
    advice = _ADVICE.get(fulfilment.reason)
    said: tuple[str, ...] = (str(advice),) if advice is not None else ()
    other_page = fulfilment.reason != Reason.UNATTRIBUTED and may_attribute(transaction)
    if other_page:
        said += (_("If it pays for another page, attribute it to that one."),)
    if fulfilment.reason == Reason.UNATTRIBUTED and transaction.page is None:
        said += (
            _("Approving it delivers without a page: the site's code must know what to give."),
        )
    return said


def facts_of(
    transaction: Transaction, fulfilment: Fulfilment, verification: Verification | None
) -> str:
    """Say in a sentence, with the figures, what made the policy or the handler hold it."""
    if fulfilment.reason == Reason.PAGE_NOT_ON_SALE:
        return _off_sale(transaction)
    if fulfilment.reason == Reason.OTHER_SITE:
        return _elsewhere(transaction)
    return _money_facts(transaction, fulfilment, verification)


def _money_facts(  # noqa: PLR0911 - one return per reason
    transaction: Transaction, fulfilment: Fulfilment, verification: Verification | None
) -> str:
    paid = paid_of(transaction)
    price = price_of(transaction)
    expected = money(*price) if price else _("an amount that is not known")
    match fulfilment.reason:
        case Reason.UNATTRIBUTED:
            return format_sentence(
                _("{paid} came in, and nothing says what for: the payment names no page, and the "
                  "payer did not come back by a page's own address."),
                paid=paid,
            )  # fmt: skip
        case Reason.MODE_MISMATCH:
            return format_sentence(
                _("It was paid in {mode} mode, and this site takes {ours} payments only."),
                mode=mode_name(transaction.domain) or "–",
                ours=mode_name(conf.mode_or_blank) or "–",
            )
        case Reason.CURRENCY_MISMATCH | Reason.AMOUNT_MISMATCH:
            return _too_little(transaction, paid, expected, price)
        case Reason.AMOUNT_INVALID:
            return format_sentence(
                _("The service gave an amount that cannot be taken: {paid}. Expected: {expected}."),
                paid=paid,
                expected=expected,
            )
        case Reason.ATTRIBUTION_CONFLICT:
            return _conflict(transaction, verification)
        case Reason.DUPLICATE_PAYMENT:
            return _duplicate(transaction)
        case Reason.NOT_SUCCESS:
            return format_sentence(
                _("It was held or waiting when the service came to say “{status}”. "
                  "Nothing was delivered."),
                status=ltr(transaction.status),
            )  # fmt: skip
        case Reason.ATTEMPTS_SPENT:
            return format_sentence(
                _("All {number} attempts to deliver failed. The last one said: {error}"),
                number=fulfilment.attempts,
                error=quoted(fulfilment.last_error),
            )
        case Reason.PERMANENT_ERROR:
            return format_sentence(
                _("The site's own code says that it cannot deliver this: {error}"),
                error=quoted(fulfilment.last_error),
            )
    return format_sentence(_("Paid {paid}, expected {expected}."), paid=paid, expected=expected)


def _too_little(
    transaction: Transaction, paid: str, expected: str, price: tuple[int | None, str] | None
) -> str:
    if (
        price
        and price[1].upper() == transaction.currency.upper()
        and price[0]
        and transaction.amount
    ):
        return format_sentence(
            _("Paid {paid}, but the price is {expected}: {less} less."),
            paid=paid,
            expected=expected,
            less=money(price[0] - transaction.amount, transaction.currency),
        )
    return format_sentence(
        _("Paid {paid}, but expected was {expected}."), paid=paid, expected=expected
    )


def _off_sale(transaction: Transaction) -> str:
    """Say why its page could not be paid on, as the page is now, and when it was paid."""
    expected = transaction.expected_payment
    page = transaction.page or (expected.page if expected else None)
    if page is None:
        return _("What it pays for was not on sale when it was paid.")
    ours = conf.mode_or_blank
    if page.domain not in {"", ours}:
        text = _("{page} is a page of {mode} mode, and this site takes {ours} payments only.")
        return format_sentence(
            text, page=page_name(page), mode=mode_name(page.domain), ours=mode_name(ours) or "–"
        )
    if page.remote_id is None:
        return format_sentence(
            _("The service has never confirmed that it has {page}."), page=page_name(page)
        )
    since = page.inactive_since
    if page.missing_since is not None:
        since, text = page.missing_since, _("The service has not had {page} since {time}.")
    elif page.active:
        text = _("{page} was not on sale. It is on sale now.")
    elif since is None:
        text = _("{page} is switched off, and nobody knows since when.")
    else:
        text = _("{page} was switched off at {time}.")
    paid = (
        format_sentence(_("It was paid at {time}."), time=format_time(transaction.paid_at))
        if transaction.paid_at is not None
        else _("The service does not say when it was paid.")
    )
    return format_html(
        "{} {}", format_sentence(text, page=page_name(page), time=format_time(since)), paid
    )


def _elsewhere(transaction: Transaction) -> str:
    page = transaction.page
    if page is None:
        return _("It pays for a page of another site on the same account.")
    return format_sentence(
        _("{page} is sold by another site on the same account, which delivers it."),
        page=page_name(page),
    )


def _conflict(transaction: Transaction, verification: Verification | None) -> str:
    claimed = verification.page_claim if verification else None
    other = claimed and PaymentPage.objects.primary().filter(token=claimed).first()
    source = Attributed(transaction.attributed_by).label
    if other and transaction.page and other != transaction.page:
        return format_sentence(
            _("By one account it pays for {page} ({source}), but the payer came back by the "
              "address of {other}."),
            page=page_name(transaction.page),
            source=source,
            other=page_name(other),
        )  # fmt: skip
    named = transaction.page or transaction.expected_payment
    return format_sentence(
        _("By one account it pays for {page} ({source}), by another for something else."),
        page=quoted(str(named or "–")),
        source=source,
    )


def _duplicate(transaction: Transaction) -> str:
    expected = transaction.expected_payment
    first = (
        Transaction.objects.primary().filter(reference_key=expected.paid_by_key).first()
        if expected and expected.paid_by_key
        else None
    )
    return format_sentence(
        _("What it pays for has already been paid by {reference}. This is a second payment."),
        reference=ltr(first.reference) if first else _("another transaction"),
    )
