"""Explain a hold: what was expected, what was paid, and what staff can do about it."""

from collections.abc import Mapping
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
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
    quoted_error,
)
from payments_pages.choices import Attributed, Reason
from payments_pages.conf import conf
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.money import fold_currency
from payments_pages.staff import may_attribute

__all__ = ["advice_of", "facts_of", "still_held"]

_ADVICE: Final[Mapping[str, object]] = {
    Reason.UNATTRIBUTED: gettext_lazy(
        "If you know what it is for, attribute it to that page. If the payer returns through "
        "the page's own address, that happens automatically."
    ),
    Reason.MODE_MISMATCH: gettext_lazy(
        "It cannot be approved: after MODE is corrected, the same payment would be delivered a "
        "second time. If MODE is wrong, ask an administrator to correct it, then ask the service "
        "again; that delivers the payment. Then, or if MODE is right, reject this one."
    ),
    Reason.PAGE_NOT_ON_SALE: gettext_lazy(
        "Approve it to deliver all the same, or reject it and refund the payer. If the page goes "
        "on sale again, the hold ends automatically."
    ),
    Reason.OTHER_SITE: gettext_lazy(
        "There is nothing to do: the site that sells the page delivers it. If this site sells it, "
        "say so on the page’s own form; the hold then ends automatically."
    ),
    Reason.CURRENCY_MISMATCH: gettext_lazy(
        "Reject it and refund the payer, or approve it if you accept this payment."
    ),
    Reason.AMOUNT_INVALID: gettext_lazy(
        "Look the payment up at the service. If the money is there, approve it; if not, reject it."
    ),
    Reason.AMOUNT_MISMATCH: gettext_lazy(
        "Ask the payer for the rest and then approve it, or reject it and refund the payer."
    ),
    Reason.ATTRIBUTION_CONFLICT: gettext_lazy(
        "Find out what the payer wanted. Approving delivers the first of the two."
    ),
    Reason.DUPLICATE_PAYMENT: gettext_lazy(
        "Most likely the payer paid twice: reject it and refund this payment."
    ),
    Reason.NOT_SUCCESS: gettext_lazy(
        "The money went back to the payer: reject the payment to close it."
    ),
    Reason.ATTEMPTS_SPENT: gettext_lazy("Fix the cause, then try the delivery again."),
    Reason.TAKEN_BACK: gettext_lazy(
        "Ask the service again: the rules then decide anew. Or approve it, or reject it again."
    ),
    Reason.PERMANENT_ERROR: gettext_lazy(
        "If the cause can be fixed, fix it and try the delivery again; if not, reject the payment "
        "and refund the payer."
    ),
}


def advice_of(transaction: Transaction, fulfilment: Fulfilment) -> tuple[str, ...]:
    """Say what staff can do about a hold, whether or not the reader has the permission."""
    advice = _ADVICE.get(fulfilment.reason)
    if fulfilment.reason == Reason.MODE_MISMATCH and not transaction.domain:
        advice = _(
            "Look the payment up at the service. If it is a {mode} payment, approve it; if not, "
            "reject it."
        ).format(mode=mode_name(conf.mode_or_blank) or "–")
    said: tuple[str, ...] = (str(advice),) if advice is not None else ()
    other_page = fulfilment.reason != Reason.UNATTRIBUTED and may_attribute(transaction)
    if other_page:
        said += (_("If it pays for another page, attribute it to that one."),)
    if fulfilment.reason == Reason.UNATTRIBUTED and transaction.page is None:
        said += (
            _("Approving it delivers without a page: the site's code must know what to deliver."),
        )
    return said


def still_held(transaction: Transaction, page: PaymentPage) -> SafeString:
    """Say why a payment is still held after staff attributed it to a page."""
    rows = Fulfilment.objects.primary().filter(transaction=transaction)
    reason = rows.values_list("reason", flat=True).first() or Reason.NONE
    name = format_html('<bdi dir="auto">{}</bdi>', page.name)
    match reason:
        case Reason.AMOUNT_MISMATCH:
            return format_sentence(_("still held: paid less than {page} costs"), page=name)
        case Reason.CURRENCY_MISMATCH:
            return format_sentence(_("still held: {page} is sold in another currency"), page=name)
    told = dict(Reason.choices).get(reason, reason)
    return format_sentence(_("still held: {reason}"), reason=told)


def facts_of(
    transaction: Transaction, fulfilment: Fulfilment, verification: Verification | None
) -> str:
    """Say in a sentence, with the figures, why the policy or the handler held it."""
    if fulfilment.reason == Reason.PAGE_NOT_ON_SALE:
        return _off_sale(transaction)
    if fulfilment.reason == Reason.OTHER_SITE:
        return _elsewhere(transaction)
    if told := _delivery_facts(transaction, fulfilment):
        return told
    return _money_facts(transaction, fulfilment, verification)


def _delivery_facts(transaction: Transaction, fulfilment: Fulfilment) -> str:
    """Say what kept an accepted payment from being delivered; "" if the policy held it."""
    match fulfilment.reason:
        case Reason.ATTEMPTS_SPENT:
            return format_sentence(
                _("All {number} attempts to deliver failed. The last one said: {error}"),
                number=fulfilment.attempts,
                error=quoted_error(fulfilment.last_error),
            )
        case Reason.TAKEN_BACK:
            return format_sentence(
                _("The rules had accepted it: {paid} was paid. It was rejected before it was "
                  "delivered, and the rejection was taken back."),
                paid=paid_of(transaction),
            )  # fmt: skip
        case Reason.PERMANENT_ERROR:
            return format_sentence(
                _("The site's own code says that it cannot deliver this: {error}"),
                error=quoted_error(fulfilment.last_error),
            )
    return ""


def _money_facts(  # noqa: PLR0911 - one return per reason
    transaction: Transaction, fulfilment: Fulfilment, verification: Verification | None
) -> str:
    paid = paid_of(transaction)
    price = price_of(transaction)
    expected = money(*price) if price else _("an amount that is not known")
    match fulfilment.reason:
        case Reason.UNATTRIBUTED:
            return format_sentence(
                _("{paid} was paid, but nothing says what for: the payment names no page, and the "
                  "payer did not return through a page's own address."),
                paid=paid,
            )  # fmt: skip
        case Reason.MODE_MISMATCH if not transaction.domain:
            return _("The service does not say whether this is a test payment or a live one.")
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
                _("The service sent an amount that cannot be used: {paid}. Expected: {expected}."),
                paid=paid,
                expected=expected,
            )
        case Reason.ATTRIBUTION_CONFLICT:
            return _conflict(transaction, verification)
        case Reason.DUPLICATE_PAYMENT:
            return _duplicate(transaction)
        case Reason.NOT_SUCCESS:
            return format_sentence(
                _("The service says “{status}” now. It was held or waiting until then, and "
                  "nothing was delivered."),
                status=ltr(transaction.status),
            )  # fmt: skip
    return format_sentence(_("Paid {paid}; expected {expected}."), paid=paid, expected=expected)


def _too_little(
    transaction: Transaction, paid: str, expected: str, price: tuple[int | None, str] | None
) -> str:
    if (
        price
        and fold_currency(price[1]) == fold_currency(transaction.currency)
        and price[0]
        and transaction.amount
    ):
        return format_sentence(
            _("Paid {paid}, but the price is {expected}: {less} less."),
            paid=paid,
            expected=expected,
            less=money(price[0] - transaction.amount, transaction.currency),
        )
    return format_sentence(_("Paid {paid}; expected {expected}."), paid=paid, expected=expected)


def _off_sale(transaction: Transaction) -> str:
    """Say why its page is not on sale now, and when the payment was made."""
    expected = transaction.expected_payment
    page = transaction.page or (expected.page if expected else None)
    if page is None:
        return _("What it pays for was not on sale when it was paid.")
    ours = conf.mode_or_blank
    if page.domain not in {"", ours}:
        text = _("{page} belongs to {mode} mode, and this site takes {ours} payments only.")
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
        text = _("{page} is switched off; it is not known since when.")
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
            _("It pays for {page} ({source}), but the payer returned through the address of "
              "{other}."),
            page=page_name(transaction.page),
            source=source,
            other=page_name(other),
        )  # fmt: skip
    named = transaction.page or transaction.expected_payment
    return format_sentence(
        _("It pays for {page} ({source}), but it also names something else."),
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
        reference=ltr(first.reference) if first else _("another payment"),
    )
