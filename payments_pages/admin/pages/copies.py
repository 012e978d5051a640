"""A new page like another one: what its form is filled in with, and what goes with it unseen."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from payments_pages.admin.formats import format_sentence, page_name, pretty
from payments_pages.admin.pages.currencies import HUNDREDTHS, currencies_of
from payments_pages.admin.pages.formats import other_metadata_of
from payments_pages.admin.pages.logos import LOGO, logo_of
from payments_pages.admin.pages.questions import rows_of
from payments_pages.admin.pages.slugs import availability
from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.money import major_text
from payments_pages.pages import MAX_SLUG, make_slug, slug_key, slug_of_name

__all__ = ["copied_metadata", "copied_questions", "copy_notices", "filled_in"]

MAX_NUMBER: Final = 50
"""The highest number that a suggested slug ends with: `tea-box-50`."""
MAX_CALLS: Final = 3
"""How many suggestions the service is asked about while the form is opened."""


def filled_in(original: PaymentPage) -> dict[str, Any]:
    """Return the initial values of the form for a page like this one; nothing is made yet.

    The price is left blank if the decimals of its currency are not known. The slug is one that is
    free, as far as can be told now.
    """
    return {
        "name": original.name,
        "description": original.description,
        "amount": _typed_price(original),
        "amount_currency": original.currency,
        "slug": _free_slug(original),
        "ask_for": rows_of(original.custom_fields),
        "logo": logo_of(original),
    }


def copied_questions(
    elements: Sequence[Mapping[str, Any]], original: PaymentPage
) -> list[Mapping[str, Any]]:
    """Return the typed questions; one that the original asks in the same words is copied whole.

    Its element may have more than the form shows: that a question must be answered, for example.
    """
    asked = original.custom_fields if isinstance(original.custom_fields, list) else []
    whole = {_words(item): item for item in asked if isinstance(item, dict)}
    return [whole.get(_words(element), element) for element in elements]


def copied_metadata(original: PaymentPage) -> dict[str, Any]:
    """Return the original's metadata but its logo, which the form shows, and what we put there."""
    metadata = other_metadata_of(original)
    if not isinstance(metadata, dict):
        return {}
    return {key: value for key, value in metadata.items() if key != LOGO}


def copy_notices(original: PaymentPage) -> Iterator[SafeString]:
    """Yield what staff should know before they save a page like this one."""
    yield format_sentence(
        _("Filled in from {page}. Nothing is made until you save."), page=page_name(original)
    )
    newest = currencies_of(None).newest
    if original.amount is not None and not _typed_price(original):
        yield format_html("{}", _("The decimals of its currency are not known: enter the amount."))
    elif original.amount is not None and original.currency not in {"", newest}:
        yield format_sentence(
            _(
                "That page is in {currency}, and the last page that was made in {newest}. Look at "
                "the amount: the service gives a new page the currency of your account."
            ),
            currency=original.currency,
            newest=newest or "–",
        )
    elements = original.custom_fields if isinstance(original.custom_fields, list) else []
    if lost := len(elements) - len(rows_of(elements)):
        yield format_html(
            "{}",
            ngettext(
                "%(count)d question of that page is of a kind that cannot be copied.",
                "%(count)d questions of that page are of a kind that cannot be copied.",
                lost,
            )
            % {"count": lost},
        )
    if other := copied_metadata(original):
        yield format_html("{} {}", _("This goes with it as well:"), pretty(other))


def _typed_price(original: PaymentPage) -> str:
    """Return the price in major units; "" if the payer chooses it or its decimals are not known."""
    currencies = currencies_of(original)
    currency = original.currency or currencies.likeliest
    exponent = conf.exponents.get(currency) if currency or currencies.asked else HUNDREDTHS
    if original.amount is None or exponent is None:
        return ""
    return major_text(original.amount, exponent)


def _words(element: Mapping[str, Any]) -> tuple[str, str]:
    return str(element.get("display_name") or ""), str(element.get("variable_name") or "")


def _free_slug(original: PaymentPage) -> str:
    """Return `tea-box-2` for a page at `tea-box`; a random slug if that does not lead to a free one.

    If the service does not answer, the first suggestion that is free here is taken: it is checked
    again when the form is saved.
    """
    calls = 0
    for slug in _numbered(original):
        if PaymentPage.objects.filter(slug_key=slug_key(slug)).exists():
            continue
        calls += 1
        if availability(slug)[0] in {"free", "unknown"}:
            return slug
        if calls == MAX_CALLS:
            break
    return make_slug()


def _numbered(original: PaymentPage) -> Iterator[str]:
    """Yield slugs with a number at the end, made of the original's slug or, if random, its name."""
    # A random slug has capital letters, nearly always.
    is_chosen = original.slug == original.slug.lower()
    stem = original.slug if is_chosen else slug_of_name(original.name)
    stem = re.sub(r"-\d{1,2}$", "", stem)
    if stem:
        for number in range(2, MAX_NUMBER + 1):
            ending = f"-{number}"
            yield stem[: MAX_SLUG - len(ending)] + ending
