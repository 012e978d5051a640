"""Build sentences for staff out of figures, names and other people's words, each escaped."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.formats import money
from payments_pages.models import PaymentPage, Transaction

__all__ = ["own_words", "page_name", "paid_of", "price_of", "words"]


def words(sentence: str, **parts: object) -> SafeString:
    """Fill a translated sentence; what is not safe already is escaped (case C51)."""
    return format_html(sentence, **parts)


def own_words(text: str) -> SafeString:
    """Set off what a person or another program wrote, whichever direction it runs in."""
    return format_html('<q class="pp-own" dir="auto">{}</q>', text) if text else SafeString("–")


def page_name(page: PaymentPage) -> SafeString:
    """Name a page by its title and its price."""
    price = money(page.amount, page.currency) or _("the payer chooses")
    return format_html('<bdi dir="auto">{}</bdi> ({})', page.name, price)


def price_of(transaction: Transaction) -> tuple[int | None, str] | None:
    """Return what had to be paid: minor units, None where the payer chooses, and the currency.

    None when nothing says what it is for. An expected payment goes before its page, as in the
    policy.
    """
    source = transaction.expected_payment or transaction.page
    return (source.amount, source.currency) if source else None


def paid_of(transaction: Transaction) -> SafeString:
    """Show what was paid; what could not be read, as it came."""
    if transaction.amount is not None:
        return money(transaction.amount, transaction.currency)
    came = transaction.unreadable.get("amount", "")
    return words(_("unreadable: {text}"), text=own_words(str(came)))
