"""The language of a payer's page, and the links to the others."""

from collections.abc import Iterator, Mapping
from functools import cache
from urllib.parse import urlencode

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import translate_url
from django.utils import translation
from django.utils.translation import get_language_info
from django.utils.translation.trans_real import parse_accept_lang_header

from payments_pages.merchant import PAGE_LANGUAGES

__all__ = ["LANGUAGE_PARAM", "choose_language", "language_links", "with_language"]

LANGUAGE_PARAM = "lang"
"""The query parameter with the language that a payer chose on the page."""


def choose_language(request: HttpRequest, *, by_path: bool = False) -> str:
    """Return the first of the payer's wishes in which the site has pages; English if none.

    1. The language that was chosen on the page (`?lang=`).
    2. With `by_path`: the language of the path. A callback ignores it: everybody comes back to the
       one address that the service has, whatever language it was made in (docs/cases.md D09).
    3. The language cookie, and then each language of Accept-Language in its order.
    4. `LANGUAGE_CODE` (docs/cases.md F2).
    """
    offered = _offered()
    for wish in _wishes(request, by_path=by_path):
        for code in (wish, _base(wish)):
            if code in offered:
                return offered[code]
    return "en"


def _wishes(request: HttpRequest, *, by_path: bool) -> Iterator[str]:
    chosen = request.GET.get(LANGUAGE_PARAM, "")
    if chosen in _codes():
        yield chosen
    if not settings.USE_I18N:
        yield settings.LANGUAGE_CODE
        return
    if by_path and (found := translation.get_language_from_path(request.path_info)):
        yield found
    yield request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "").lower()
    for code, _quality in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        yield code
    yield settings.LANGUAGE_CODE


@cache
def _offered() -> Mapping[str, str]:
    """Return, by code and by base language, the site's languages that we have pages in.

    Of several variants of one language, such as "en" and "en-gb", the plain one is offered, or
    else the first (docs/cases.md D18: the setting LANGUAGES was never set).
    """
    codes = _codes()
    found: dict[str, str] = {}
    for code in sorted(codes, key=lambda code: code != _base(code)):
        found[code] = found.setdefault(_base(code), code)
    return found


@cache
def _codes() -> tuple[str, ...]:
    """Return the codes of the site's languages in which our pages are written, in their order."""
    languages = settings.LANGUAGES if settings.USE_I18N else [(settings.LANGUAGE_CODE, "")]
    return tuple(code for code, _name in languages if _base(code) in PAGE_LANGUAGES)


@receiver(setting_changed)
def _forget_languages(*, setting: str, **_more: object) -> None:
    """Forget the languages if a test changes the site's."""
    if setting in {"LANGUAGES", "LANGUAGE_CODE", "USE_I18N"}:
        _codes.cache_clear()
        _offered.cache_clear()


def _base(code: str) -> str:
    return code.split("-", maxsplit=1)[0]


def language_links(request: HttpRequest, current: str) -> Iterator[dict[str, object]]:
    """Yield each offered language: its name in that language, and the URL of this page in it.

    Nothing if the page can be read in one language only.
    """
    offered = _offered()
    codes = [code for code in _codes() if offered[code] == code]
    if len(codes) < 2:
        return
    for code in codes:
        query = request.GET.copy()
        query[LANGUAGE_PARAM] = code
        info = get_language_info(code)
        yield {
            "code": code,
            "name": info["name_local"],
            "dir": "rtl" if info["bidi"] else "ltr",
            "address": f"{translate_url(request.path, code)}?{query.urlencode()}",
            "current": code == current,
        }


def with_language(url: str, request: HttpRequest) -> str:
    """Return the URL with the language that the payer chose on this page, if any."""
    chosen = request.GET.get(LANGUAGE_PARAM, "")
    if chosen not in _codes():
        return url
    separator = "&" if "?" in url else "?"
    return url + separator + urlencode({LANGUAGE_PARAM: chosen})
