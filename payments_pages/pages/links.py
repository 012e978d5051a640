"""The two URLs of a page: the public one, and the callback to which payers return."""

from contextlib import suppress
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.urls import Resolver404, get_script_prefix, resolve, reverse
from django.utils.translation import get_language_from_path, override

from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.pages.origins import return_origin

__all__ = ["callback_url", "comes_back_here", "public_url", "slug_url"]


def public_url(page: PaymentPage) -> str:
    """Return the URL where payers open the page (docs/service.md: `{pay_url}/<slug>`)."""
    return slug_url(page.slug)


def slug_url(slug: str) -> str:
    """Return the public URL of the page that has this slug."""
    return f"{conf.pay_url}/{quote(slug, safe='')}"


def callback_url(page: PaymentPage, site_url: str = "") -> str:
    """Return the URL of this site to which the service sends the page's payers after payment.

    `site_url` is the origin of a request, and is used if the setting `SITE_URL` is empty. Raise
    `PageError` if payers may not be able to reach the origin.

    Nobody can change this URL later, so it does not depend on the active language: with
    `i18n_patterns` its prefix is that of `LANGUAGE_CODE`.
    """
    with override(settings.LANGUAGE_CODE):
        path = reverse("payments_pages:page-callback", args=[page.token])
    return return_origin(site_url) + path


def comes_back_here(page: PaymentPage, callback: str) -> bool:
    """Return whether the page's redirect URL leads to its callback on this site.

    `callback` is what `callback_url` returns. An older page may have the URL in another language:
    with `i18n_patterns` the callback answers under the prefix of every language, and a translated
    path has as many forms. So the path is resolved, as the request of a payer will be
    (docs/cases.md F05).
    """
    if page.redirect_url == callback:
        return True
    try:
        ours, theirs = urlsplit(callback), urlsplit(page.redirect_url)
    except ValueError:
        return False
    if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
        return False
    path = "/" + theirs.path.removeprefix(get_script_prefix()).lstrip("/")
    # A prefix says the language. Without one, a translated path may be of any.
    found = get_language_from_path(path)
    languages = [found] if found else [settings.LANGUAGE_CODE, *dict(settings.LANGUAGES)]
    return any(_is_callback(path, page, language) for language in languages)


def _is_callback(path: str, page: PaymentPage, language: str) -> bool:
    """Return whether a path, with or without its last slash, is the callback of the page."""
    with override(language):
        for tried in dict.fromkeys((path, f"{path}/")):
            with suppress(Resolver404):
                match = resolve(tried)
                is_ours = match.url_name == "page-callback" and match.app_name == "payments_pages"
                return is_ours and match.kwargs.get("page_token") == page.token
    return False
