"""The sandbox's HTML; every value is escaped unless it is Markup made here."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from markupsafe import Markup

from payments_pages.money import format_amount
from payments_pages.sandbox.choices import CHOICES
from payments_pages.sandbox.languages import ENGLISH, LANGUAGES, PARAMETER, Language
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


def document(
    title: str, content: Markup, *, language: Language = ENGLISH, here: str | None = None
) -> Markup:
    """Wrap content into a whole page.

    With `here`, the query of a page that may be opened again, it offers the other languages.
    """
    return _template("layout.html").format(
        title=title,
        content=content,
        lang=language.code,
        direction=language.direction,
        sandbox=language.gettext("Sandbox"),
        harmless=language.gettext("no money moves"),
        languages=_NOTHING if here is None else _languages(language, here),
    )


def _languages(current: Language, here: str) -> Markup:
    kept = [pair for pair in parse_qsl(here, keep_blank_values=True) if pair[0] != PARAMETER]
    links = Markup("\n").join(
        Markup('<a href="?{0}" lang="{1}" hreflang="{1}"{2}>{3}</a>').format(
            urlencode([*kept, (PARAMETER, language.code)]),
            language.code,
            Markup(' aria-current="true"') if language is current else _NOTHING,
            language.name,
        )
        for language in LANGUAGES.values()
    )
    label = current.gettext("Language")
    return Markup('<nav class="languages" aria-label="{}">\n{}\n</nav>').format(label, links)


def notice(
    title: str,
    text: str,
    *,
    links: Sequence[tuple[str, str]] = (),
    facts: Mapping[str, str] | None = None,
    language: Language = ENGLISH,
) -> Markup:
    """Write a page that says one thing, with facts to read off and perhaps links (href, text).

    All texts are in English here, and shown in `language`.
    """
    _ = language.gettext
    first = "button primary"
    anchors = Markup("\n").join(
        Markup('<a class="{}" href="{}">{}</a>').format(first if not place else "button", to, _(on))
        for place, (to, on) in enumerate(links)
    )
    listed = _listed({_(name): value for name, value in (facts or {}).items()})
    body = Markup("<h1>{}</h1>\n<p>{}</p>\n{}\n{}").format(_(title), _(text), listed, anchors)
    return document(_(title), body, language=language)


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
    language: Language = ENGLISH,
    here: str = "",
) -> Markup:
    """Write the form on which a page is paid; `wrong` names the field that has a problem."""
    content = _template("checkout.html").format(
        logo=_logo(page),
        name=page["name"],
        description=_description(page),
        problem=_problem(language.gettext(problem) if problem else ""),
        amount=_amount(page, values, language, invalid=wrong == "amount"),
        custom_fields=_custom_inputs(page, values),
        email_problem=_invalid(wrong == "email"),
        email_label=language.gettext("E-mail"),
        optional=language.gettext("Name and phone (optional)"),
        first_name_label=language.gettext("First name"),
        last_name_label=language.gettext("Last name"),
        phone_label=language.gettext("Phone"),
        **{
            name: values.get(name, "")
            for name in ("reference", "email", "first_name", "last_name", "phone")
        },
        choices=_choices(language, has_price=page["amount"] is not None),
    )
    return document(page["name"], content, language=language, here=here)


def started_page(
    transaction: Payload, *, problem: str = "", language: Language = ENGLISH, here: str = ""
) -> Markup:
    """Write the form on which a started checkout is paid: amount and payer are settled."""
    _ = language.gettext
    shown = format_amount(transaction["amount"], transaction["currency"])
    facts = {
        _("E-mail"): transaction["customer"]["email"],
        _("Reference"): transaction["reference"],
    }
    content = Markup(
        '<h1>{}</h1>\n<p class="amount"><bdi dir="ltr">{}</bdi></p>\n{}\n{}\n'
        '<form method="post" novalidate>\n{}</form>'
    ).format(
        _("Pay"),
        shown,
        _listed(facts),
        _problem(_(problem) if problem else ""),
        _choices(language, has_price=True),
    )
    return document(_("Pay"), content, language=language, here=here)


def _choices(language: Language, *, has_price: bool) -> Markup:
    usual, *others = [
        Markup('<button{} name="choice" value="{}">{}</button>').format(
            _NOTHING if place else Markup(' class="primary"'), value, language.gettext(choice.label)
        )
        for place, (value, choice) in enumerate(CHOICES.items())
        if has_price or not choice.needs_price
    ]
    legend = language.gettext("Or try what else can happen")
    return Markup("{}\n<fieldset>\n<legend>{}</legend>\n{}\n</fieldset>\n").format(
        usual, legend, Markup("\n").join(others)
    )


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


def _amount(
    page: Payload, values: Mapping[str, str], language: Language, *, invalid: bool
) -> Markup:
    if page["amount"] is not None:
        shown = format_amount(page["amount"], page["currency"])
        return Markup('<p class="amount"><bdi dir="ltr">{}</bdi></p>').format(shown)
    return Markup(
        '<div class="field"><label for="amount">{} (<bdi dir="ltr">{}</bdi>)</label>'
        '<input id="amount" name="amount" inputmode="decimal" dir="ltr" required value="{}"{}>'
        "</div>"
    ).format(
        language.gettext("Amount"),
        page["currency"],
        values.get("amount", ""),
        _invalid(invalid),
    )


def _custom_inputs(page: Payload, values: Mapping[str, str]) -> Markup:
    return Markup("\n").join(
        Markup(
            '<div class="field"><label for="custom-{0}" dir="auto">{1}</label>'
            '<input id="custom-{0}" name="{2}" dir="auto" value="{3}"></div>'
        ).format(number, label, CUSTOM_PREFIX + name, values.get(CUSTOM_PREFIX + name, ""))
        for number, (label, name) in enumerate(custom_fields_of(page))
    )
