"""The content security policy of payers' pages, where the site has none of its own."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from payments_pages.conf import conf

__all__ = ["is_policy_ours", "nonce_of", "policy"]

_MIDDLEWARE = ("contentsecuritypolicy", "csp")
"""Parts of the names of middleware that sets the site's policy: Django's own, django-csp."""


def is_policy_ours() -> bool:
    """Tell whether our pages may have our policy: the site has none, and has not refused ours.

    Django's middleware and django-csp set their header only where there is none, so ours would
    shut the site's policy out (docs/cases.md D06). Middleware with another name wins by setting the
    header itself, or the setting `RESULT_CSP` is False.
    """
    return conf.result_csp and not any(
        part in name.lower() for name in settings.MIDDLEWARE for part in _MIDDLEWARE
    )


def policy() -> str:
    """Return our policy: only our own stylesheets, script and images are allowed.

    `STATIC_URL` may have another host; then the policy names it. The merchant's colour is a
    stylesheet of this site.
    """
    parts = urlsplit(settings.STATIC_URL or "")
    static = f"{parts.scheme or 'https'}://{parts.netloc}" if parts.netloc else "'self'"
    both = static if static == "'self'" else f"'self' {static}"
    return (
        f"default-src 'none'; style-src {both}; script-src {static}; img-src {both}; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def nonce_of(request: HttpRequest) -> str:
    """Return the nonce of the site's own policy for this response; "" if it has none.

    A policy with `'strict-dynamic'` loads no script without it. Django keeps it in `_csp_nonce`
    (its `get_nonce()` reads that too), django-csp in `csp_nonce`: both make it when it is read,
    and put it into the header then.
    """
    for name in ("_csp_nonce", "csp_nonce"):
        # Not by truth: until it is read, Django's is false.
        if (nonce := getattr(request, name, None)) is not None:
            return str(nonce)
    return ""
