"""Checks of the URLs of the service and of this site."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name
from django.urls import NoReverseMatch, Resolver404, reverse
from django.utils import translation

from payments_pages.choices import Mode
from payments_pages.client import checked_proxy, is_loopback
from payments_pages.conf import conf
from payments_pages.exceptions import ConfigurationError
from payments_pages.pages import is_origin, is_reserved, is_safe

__all__ = [
    "check_addresses",
    "check_languages",
    "check_own_address",
    "check_proxy",
    "check_site_is_known",
    "check_urls",
]

_LANGUAGES = 3
_OWN = '"SITE_URL": "https://" and the name that payers know this site by'


@register(Tags.security)
def check_addresses(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E004: a URL is not https, nor http on loopback. W001: a sandbox's URL with a live key."""
    messages: list[CheckMessage] = []
    for key in ("BASE_URL", "PAY_URL", "SITE_URL"):
        address = conf.get(key)
        if address in (None, ""):
            continue
        if not is_safe(str(address)):
            hint = f'"{key}": "https://…" (http only on this machine itself)'
            messages.append(
                Error(
                    f"PAYMENTS_PAGES[{key!r}] is not a safe URL: it must be https, or http on this machine.",
                    hint=hint,
                    id="payments_pages.E004",
                )
            )
    base = str(conf.get("BASE_URL", ""))
    if is_safe(base) and is_loopback(urlsplit(base).hostname or "") and _is_live():
        hint = '"BASE_URL": the address of the service\'s API, from its documentation'
        messages.append(
            Warning(
                "A live key is used with the URL of a sandbox.", hint=hint, id="payments_pages.W001"
            )
        )
    return messages


@register(Tags.security)
def check_own_address(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E004: SITE_URL has a path. E034: its host is reserved for documentation; W021: with a test key."""
    address = str(conf.get("SITE_URL", "") or "")
    if not is_safe(address):
        return []
    messages: list[CheckMessage] = []
    if not is_origin(address):
        parts = urlsplit(address)
        hint = f'"SITE_URL": "{parts.scheme}://{parts.netloc}"'
        message = (
            "PAYMENTS_PAGES['SITE_URL'] has a path: the app's own paths would be appended to it."
        )
        messages.append(Error(message, hint=hint, id="payments_pages.E004"))
    if is_reserved(address):
        message = "PAYMENTS_PAGES['SITE_URL'] is a host reserved for documentation: payers cannot reach it."
        live = _is_live()
        messages.append(
            Error(message, hint=_OWN, id="payments_pages.E034")
            if live
            else Warning(message, hint=_OWN, id="payments_pages.W021")
        )
    return messages


@register(Tags.security, deploy=True)
def check_site_is_known(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W020: without SITE_URL the host is taken from the requests of staff."""
    if conf.site_url:
        return []
    message = (
        "PAYMENTS_PAGES['SITE_URL'] is not set: a page created in the admin keeps the host "
        "that staff used at that moment; commands cannot create pages."
    )
    return [Warning(message, hint=_OWN, id="payments_pages.W020")]


def _is_live() -> bool:
    key = conf.get("SECRET_KEY")
    prefixed = isinstance(key, str) and key.strip().startswith(f"sk_{Mode.LIVE}_")
    return conf.get("MODE") == Mode.LIVE or prefixed


@register(Tags.security)
def check_proxy(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E037: PROXY is no URL of a proxy. E038: there is no file at CA_BUNDLE."""
    messages: list[CheckMessage] = []
    try:
        checked_proxy(conf.proxy or "http://localhost:1")
    except ConfigurationError:
        message = "PAYMENTS_PAGES['PROXY'] is not the URL of a proxy that calls can go through."
        hint = '"PROXY": "http://host:port"'
        messages.append(Error(message, hint=hint, id="payments_pages.E037"))
    if conf.ca_bundle and not Path(conf.ca_bundle).exists():
        message = "PAYMENTS_PAGES['CA_BUNDLE'] names no file: every call to the service would fail."
        hint = '"CA_BUNDLE": the path of a file of PEM certificates'
        messages.append(Error(message, hint=hint, id="payments_pages.E038"))
    return messages


@register(Tags.urls)
def check_urls(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E015: the app's URLs are not included. E016: the result view does not exist."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []  # a worker or script that serves nothing
    token = "00000000-0000-4000-8000-000000000000"  # noqa: S105 - not a secret
    tests: tuple[tuple[Callable[[], str], str, str, str], ...] = (
        (
            lambda: reverse("payments_pages:callback"),
            "The URLs of payments_pages are not included.",
            'path("payments/", include("payments_pages.urls"))',
            "payments_pages.E015",
        ),
        (
            lambda: reverse(conf.result_view, kwargs={"token": token}),
            "PAYMENTS_PAGES['RESULT_VIEW'] names no view that takes a token.",
            '"RESULT_VIEW": "payments_pages:result"',
            "payments_pages.E016",
        ),
    )
    for resolve, message, hint, check_id in tests:
        try:
            resolve()
        except (NoReverseMatch, Resolver404):
            return [Error(message, hint=hint, id=check_id)]
    return []


@register(Tags.urls)
def check_languages(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W022: the URL that payers come back to depends on the language."""
    if not getattr(settings, "ROOT_URLCONF", None) or not settings.USE_I18N:
        return []
    addresses: set[str] = set()
    # Each language costs a copy of the site's routes, and a few are enough.
    for code, _name in settings.LANGUAGES[:_LANGUAGES]:
        with translation.override(code):
            try:
                addresses.add(reverse("payments_pages:callback"))
            except NoReverseMatch:
                return []  # E015 says so
    if len(addresses) < 2:
        return []
    hint = 'Outside of i18n_patterns(): path("payments/", include("payments_pages.urls"))'
    message = "The URL that payers come back to depends on the language."
    return [Warning(message, hint=hint, id="payments_pages.W022")]
