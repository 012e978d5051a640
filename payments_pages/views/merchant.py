"""What payers' pages say of the merchant, from the setting `MERCHANT`."""

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator, validate_email
from django.templatetags.static import static
from django.urls import reverse

from payments_pages.conf import conf, load_function
from payments_pages.exceptions import ConfigurationError
from payments_pages.merchant import is_colour, is_safe_link
from payments_pages.models import Transaction

__all__ = ["merchant_context"]

logger = logging.getLogger("payments_pages.result")


def merchant_context(
    language: str, reference: str, transaction: Transaction | None
) -> dict[str, object]:
    """Return the context for the templates; blank texts for what the merchant did not say."""
    contact = conf.merchant_text("CONTACT", language)
    return {
        "merchant": conf.merchant_text("NAME", language),
        "logo": _logo(),
        "brand": reverse("payments_pages:brand") if is_colour(conf.merchant("COLOUR")) else "",
        "contact": contact,
        "contact_link": _link(contact, reference),
        "what_happens_next": conf.merchant_text("NEXT_STEPS", language),
        "next_url": _next_url(transaction),
        "next_label": conf.merchant_text("NEXT_LABEL", language),
        "receipt": conf.merchant("RECEIPT"),
    }


def _logo() -> str:
    """Return the URL of the logo; "" without one, and if the storage does not know the file."""
    path = conf.merchant("LOGO")
    if not path:
        return ""
    try:
        return static(str(path))
    except ValueError:
        pass  # of a storage with a manifest, in which the file is not
    logger.error("result.no_logo: %s", path, extra={"path": str(path)})
    return ""


def _link(contact: str, reference: str) -> str:
    """Return the URL of a contact that is an e-mail address or an https URL; else "".

    A message has the reference as its subject: payers are asked to give it.
    """
    try:
        validate_email(contact)
    except ValidationError:
        pass
    else:
        return f"mailto:{contact}" + (f"?subject={quote(reference, safe='')}" if reference else "")
    try:
        URLValidator(schemes=["https"])(contact)
    except ValidationError:
        return ""
    return contact


def _next_url(transaction: Transaction | None) -> str:
    """Return where the payer goes on to; "" if that is not said, or cannot be found out.

    A function of the merchant's that fails takes away the link and nothing else: the payer must
    read what became of the payment.
    """
    value = conf.merchant("NEXT_URL", "")
    if is_safe_link(value):
        return str(value)
    if not value or transaction is None:
        return ""
    try:
        url = _function(value)(transaction)
    except Exception as error:  # noqa: BLE001 - any error of the merchant's own code
        _say_no_link(transaction, type(error).__name__)
        return ""
    if not is_safe_link(url):
        _say_no_link(transaction, "no path and no https address")
        return ""
    return str(url)


def _function(value: object) -> Callable[[Transaction], Any]:
    if callable(value):
        return value
    if not isinstance(value, str):
        raise ConfigurationError('PAYMENTS_PAGES["MERCHANT"]["NEXT_URL"] is malformed.')
    return load_function("NEXT_URL", value)


def _say_no_link(transaction: Transaction, why: str) -> None:
    logger.error(
        "result.no_next_url: %s: %s",
        transaction.reference,
        why,
        extra={"reference": transaction.reference, "why": why},
    )
