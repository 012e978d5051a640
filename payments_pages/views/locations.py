"""Say where a payer is sent."""

from functools import lru_cache
from typing import Final
from uuid import UUID

from django.conf import settings
from django.urls import get_script_prefix, get_urlconf, reverse
from django.utils.translation import get_language

from payments_pages.conf import conf

__all__ = ["result_path"]

_ANY: Final = "00000000-0000-4000-8000-000000000000"


def result_path(token: UUID) -> str:
    """Return the path of a transaction's result page; raise `NoReverseMatch` if there is none.

    Django looks the route up anew each time, which is a tenth of a settled callback. All that it
    depends on is looked at here; the token is put in its place.
    """
    routes = get_urlconf() or settings.ROOT_URLCONF
    pattern = _pattern(conf.result_view, routes, get_script_prefix(), get_language())
    if _ANY not in pattern:  # a converter of the merchant's writes it some other way
        return reverse(conf.result_view, kwargs={"token": token})
    return pattern.replace(_ANY, str(token))


@lru_cache(maxsize=64)
def _pattern(view: str, _routes: object, _prefix: str, _language: str | None) -> str:
    return reverse(view, kwargs={"token": UUID(_ANY)})
