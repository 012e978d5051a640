"""The sandbox's HTML; every value is escaped unless it is Markup made here."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from markupsafe import Markup

from payments_pages.money import format_amount
from payments_pages.sandbox.payloads import Payload

__all__ = [
    "CUSTOM_PREFIX",
    "asset",
    "checkout_page",
    "custom_fields_of",
    "document",
    "notice",
    "started_page",
    "telling",
]

CUSTOM_PREFIX = "custom:"
"""Starts the form's name of a custom field, so that it cannot be taken for one of ours."""

_NOTHING = Markup()


@cache
def _template(name: str) -> Markup:
    return Markup(Path(__file__).with_name(name).read_text(encoding="utf-8"))  # noqa: S704 - ours


def asset(name: str) -> str:
    """Return a stylesheet or script of ours."""
    return str(_template(name))


def document(title: str, content: Markup) -> Markup:
    """Wrap content into a whole page."""
    return _template("layout.html").format(title=title, content=content)


def notice(
    title: str,
    text: str,
    *,
    link: tuple[str, str] | None = None,
    facts: Mapping[str, str] | None = None,
) -> Markup:
    """Write a page that says one thing, with facts to read off and perhaps a link (href, text)."""
    anchor = Markup('<a class="button primary" href="{}">{}</a>').format(*link) if link else ""
    body = Markup("<h1>{}</h1>\n<p>{}</p>\n{}\n{}").format(
        title, text, _listed(facts or {}), anchor
    )
    return document(title, body)


def _listed(facts: Mapping[str, str]) -> Markup:
    rows = Markup().join(
        Markup('<dt>{}</dt><dd><bdi dir="ltr">{}</bdi></dd>').format(name, value)
        for name, value in facts.items()
    )
    return Markup("<dl>{}</dl>").format(rows) if rows else _NOTHING


def checkout_page(
    page: Payload,
    *,
    values: Mapping[str, str],
    problem: str = "",
    wrong: str = "",
) -> Markup:
    """Write the form on which a page is paid; `wrong` names the field that has a problem."""
    content = _template("checkout.html").format(
        logo=_logo(page),
        name=page["name"],
        description=_description(page),
        problem=_problem(problem),
        amount=_amount(page, values, invalid=wrong == "amount"),
        custom_fields=_custom_inputs(page, values),
        email_problem=_invalid(wrong == "email"),
        **{
            name: values.get(name, "")
            for name in ("reference", "email", "first_name", "last_name", "phone")
        },
        choices=_template("choices.html"),
    )
    return document(page["name"], content)


def started_page(transaction: Payload, *, problem: str = "") -> Markup:
    """Write the form on which a started checkout is paid: amount and payer are settled."""
    shown = format_amount(transaction["amount"], transaction["currency"])
    facts = {"E-mail": transaction["customer"]["email"], "Reference": transaction["reference"]}
    content = Markup(
        '<h1>Pay</h1>\n<p class="amount"><bdi dir="ltr">{}</bdi></p>\n{}\n{}\n'
        '<form method="post" novalidate>\n{}</form>'
    ).format(shown, _listed(facts), _problem(problem), _template("choices.html"))
    return document("Pay", content)


def telling(page: Markup, told: Mapping[str, str]) -> Markup:
    """Add to a page the script that tells the site around it, by data attributes."""
    data = Markup().join(Markup(' data-{}="{}"').format(*item) for item in told.items())
    script = Markup('<script src="/popup.js" defer{}></script>\n</head>').format(data)
    return page.replace(Markup("</head>"), script, 1)


def custom_fields_of(page: Payload) -> list[tuple[str, str]]:
    """List the (display_name, variable_name) of a page's custom fields.

    The interface leaves an element's shape open; these two keys are only seen. Elements of
    another shape are not shown.
    """
    fields = []
    for item in page["custom_fields"] or []:
        if not isinstance(item, dict):
            continue
        label, name = item.get("display_name"), item.get("variable_name")
        if isinstance(label, str) and isinstance(name, str):
            fields.append((label, name))
    return fields


def _logo(page: Payload) -> Markup:
    address = (page["metadata"] or {}).get("logo_url")
    if not isinstance(address, str) or urlsplit(address).scheme not in {"http", "https"}:
        return _NOTHING
    return Markup('<img class="logo" src="{}" alt="" referrerpolicy="no-referrer">').format(address)


def _description(page: Payload) -> Markup:
    if not page["description"]:
        return _NOTHING
    return Markup('<p class="quiet" dir="auto">{}</p>').format(page["description"])


def _problem(text: str) -> Markup:
    if not text:
        return _NOTHING
    return Markup('<p class="problem" id="problem" role="alert">{}</p>').format(text)


def _invalid(is_wrong: bool) -> Markup:  # noqa: FBT001 - the only argument
    return Markup(' aria-invalid="true" aria-describedby="problem"') if is_wrong else _NOTHING


def _amount(page: Payload, values: Mapping[str, str], *, invalid: bool) -> Markup:
    if page["amount"] is not None:
        shown = format_amount(page["amount"], page["currency"])
        return Markup('<p class="amount"><bdi dir="ltr">{}</bdi></p>').format(shown)
    return Markup(
        '<div class="field"><label for="amount">Amount in <bdi dir="ltr">{}</bdi></label>'
        '<input id="amount" name="amount" inputmode="decimal" dir="ltr" required value="{}"{}>'
        "</div>"
    ).format(page["currency"], values.get("amount", ""), _invalid(invalid))


def _custom_inputs(page: Payload, values: Mapping[str, str]) -> Markup:
    return Markup("\n").join(
        Markup(
            '<div class="field"><label for="custom-{0}" dir="auto">{1}</label>'
            '<input id="custom-{0}" name="{2}" dir="auto" value="{3}"></div>'
        ).format(number, label, CUSTOM_PREFIX + name, values.get(CUSTOM_PREFIX + name, ""))
        for number, (label, name) in enumerate(custom_fields_of(page))
    )
