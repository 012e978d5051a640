"""Show payers the six things they can be told, in their language."""

from collections.abc import Iterator
from datetime import datetime
from http import HTTPStatus
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator, validate_email
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import get_language_info

from payments_pages.choices import Mode, Outcome
from payments_pages.conf import conf
from payments_pages.confirmation import Confirmation
from payments_pages.models import PaymentPage, Transaction
from payments_pages.money import format_amount
from payments_pages.pages import public_url

__all__ = ["PAGES", "show"]

PAGES = {
    Outcome.DELIVERED: "paid",
    Outcome.ALREADY_DELIVERED: "paid",
    Outcome.DELIVERING: "processing",
    Outcome.DELIVERY_FAILED: "processing",
    Outcome.PENDING: "processing",
    Outcome.HELD: "checking",
    Outcome.REJECTED: "checking",
    Outcome.NOT_PAID: "not_paid",
    Outcome.UNKNOWN: "unknown",
    Outcome.UNAVAILABLE: "unavailable",
}
"""The six things a payer can be told, by outcome."""

LANGUAGES = ("en", "ar", "he")
"""The languages that our pages are written in."""

LANGUAGE_PARAM = "lang"


def show(
    request: HttpRequest,
    page: str,
    *,
    status: int = HTTPStatus.OK,
    again: str = "",
    watch: str = "",
    confirmation: Confirmation | None = None,
) -> HttpResponse:
    """Render one of the six pages.

    `again` is the address that asks anew, `watch` the one the page's script may poll. Nothing
    personal is in the context but what the merchant calls the page and the reference itself.
    """
    language = _language(request)
    with translation.override(language):
        context = {
            "page": page,
            "again": _with_language(again, request) if again else "",
            "watch": watch,
            "reference": confirmation.reference if confirmation else "",
            "languages": list(_languages(request, language)),
            **_merchant(language),
            **_payment(confirmation.transaction if confirmation else None),
        }
        text = render_to_string(f"payments_pages/{page}.html", context, request)
    response = HttpResponse(text, status=status)
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language, Cookie"
    return response


def _payment(found: Transaction | None) -> dict[str, object]:
    if found is None:
        return {"test": False}
    page: PaymentPage | None = found.page
    return {
        "amount": format_amount(found.amount, found.currency, conf.exponents),
        "paid_at": found.paid_at,
        "paid_at_text": _moment(found.paid_at),
        "page_name": page.name if page else "",
        "try_again": public_url(page) if page and page.active else "",
        "test": found.domain == Mode.TEST,
    }


def _moment(value: datetime | None) -> str:
    """Write a time as 2026-11-27 21:05 EET, in the site's zone and the same in every language.

    Not by Django's date filter: it leaves the zone out in the hour that a change of clocks
    repeats, although an aware time says which of the two it is (docs/cases.md C63).
    """
    if value is None:
        return ""
    local = timezone.localtime(value)
    return f"{local:%Y-%m-%d %H:%M} {local.tzname()}"


def _merchant(language: str) -> dict[str, str]:
    contact = conf.merchant_text("MERCHANT_CONTACT", language)
    return {
        "merchant": conf.merchant_text("MERCHANT_NAME", language),
        "contact": contact,
        "contact_link": _link(contact),
        "what_happens_next": conf.merchant_text("WHAT_HAPPENS_NEXT", language),
    }


def _link(contact: str) -> str:
    """Return where a contact leads: a mail address or https address; "" for other text."""
    try:
        validate_email(contact)
    except ValidationError:
        pass
    else:
        return f"mailto:{contact}"
    try:
        URLValidator(schemes=["https"])(contact)
    except ValidationError:
        return ""
    return contact


def _language(request: HttpRequest) -> str:
    """Return the language of the page: as chosen on it, else as Django finds it."""
    offered = _offered()
    chosen = request.GET.get(LANGUAGE_PARAM, "")
    if chosen in offered:
        return chosen
    found = translation.get_language_from_request(request)
    return next((code for code in (found, found.split("-")[0]) if code in offered), offered[0])


def _offered() -> list[str]:
    """Return the languages that both the site and our pages have; the site's own if none."""
    if not settings.USE_I18N:
        return [settings.LANGUAGE_CODE]
    codes = [code for code, _name in settings.LANGUAGES if code.split("-")[0] in LANGUAGES]
    return codes or [settings.LANGUAGE_CODE]


def _languages(request: HttpRequest, current: str) -> Iterator[dict[str, object]]:
    """Yield each offered language with its own name and the address of this page in it."""
    offered = _offered()
    if len(offered) == 1:
        return
    for code in offered:
        query = request.GET.copy()
        query[LANGUAGE_PARAM] = code
        info = get_language_info(code)
        yield {
            "code": code,
            "name": info["name_local"],
            "dir": "rtl" if info["bidi"] else "ltr",
            "address": f"{request.path}?{query.urlencode()}",
            "current": code == current,
        }


def _with_language(address: str, request: HttpRequest) -> str:
    chosen = request.GET.get(LANGUAGE_PARAM, "")
    if chosen not in _offered():
        return address
    joint = "&" if "?" in address else "?"
    return address + joint + urlencode({LANGUAGE_PARAM: chosen})
