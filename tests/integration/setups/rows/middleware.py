"""What stands between the server and our views."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.integration.setups.setup import Setup
from tests.support import base_settings

__all__ = ["ROWS"]

MIDDLEWARE = base_settings.MIDDLEWARE_WITH_LOCALE
APPS = [*base_settings.INSTALLED_APPS, "payments_pages", "tests.support.goods"]
FOLDER = Path(__file__).resolve().parent.parent / "templates"
NONCE = "<CSP_NONCE_SENTINEL>"
"""Where Django's own policy puts the nonce; before Django 6 there is no name for it."""
PACKAGE_NONCE = import_module("csp.constants").NONCE if find_spec("csp") else NONCE


def templates(folder: str, *processors: str) -> list[dict[str, Any]]:
    """Return `TEMPLATES` with a folder of the site's own, and more context processors."""
    (usual,) = base_settings.TEMPLATES
    context = [*usual["OPTIONS"]["context_processors"], *processors]
    return [{**usual, "DIRS": [FOLDER / folder], "OPTIONS": {"context_processors": context}}]


ROWS = (
    Setup(
        name="policy by Django",
        special="Django's `ContentSecurityPolicyMiddleware`, a strict policy, a nonce in a template of ours.",
        holds="The result page is under the site's policy; nothing of ours in the admin is inline.",
        settings={
            "MIDDLEWARE": ["django.middleware.csp.ContentSecurityPolicyMiddleware", *MIDDLEWARE],
            "SECURE_CSP": {
                "default-src": ["'self'"],
                "script-src": ["'self'", NONCE],
                "style-src": ["'self'"],
                "img-src": ["'self'", "https://count.example"],
            },
            "TEMPLATES": templates("policy_django", "django.template.context_processors.csp"),
        },
        policy="https://count.example",
        django_from=(6, 0),
    ),
    Setup(
        name="policy by django-csp",
        special="django-csp, a strict policy, a nonce in a template of ours.",
        holds="As above.",
        settings={
            "INSTALLED_APPS": ["csp", *APPS],
            "MIDDLEWARE": ["csp.middleware.CSPMiddleware", *MIDDLEWARE],
            "CONTENT_SECURITY_POLICY": {
                "DIRECTIVES": {
                    "default-src": ["'self'"],
                    "script-src": ["'self'", PACKAGE_NONCE],
                    "img-src": ["'self'", "https://count.example"],
                }
            },
            "TEMPLATES": templates("policy_package"),
        },
        policy="https://count.example",
        needs=("csp",),
    ),
    Setup(
        name="login required",
        special="`LoginRequiredMiddleware`: nobody sees anything without a login.",
        holds="Payers and the service need none at our doors.",
        settings={
            "MIDDLEWARE": [
                *MIDDLEWARE,
                "django.contrib.auth.middleware.LoginRequiredMiddleware",
            ],
            "LOGIN_URL": "/admin/login/",
        },
        front=302,
    ),
    Setup(
        name="cached and compressed",
        special="The site-wide cache, `GZipMiddleware` and `ConditionalGetMiddleware`.",
        holds="Nothing of a payment is stored: each answer is `no-store`.",
        headers={"Content-Encoding": "gzip"},
        cached=True,
        settings={
            "MIDDLEWARE": [
                "django.middleware.cache.UpdateCacheMiddleware",
                "django.middleware.gzip.GZipMiddleware",
                "django.middleware.http.ConditionalGetMiddleware",
                *MIDDLEWARE,
                "django.middleware.cache.FetchFromCacheMiddleware",
            ],
        },
    ),
    Setup(
        name="sessions in cookies",
        special="`SESSION_ENGINE` is the signed cookie, and messages are in it.",
        holds="Everything: nothing of ours is kept in a session.",
        settings={
            "SESSION_ENGINE": "django.contrib.sessions.backends.signed_cookies",
            "MESSAGE_STORAGE": "django.contrib.messages.storage.session.SessionStorage",
        },
    ),
    Setup(
        name="WhiteNoise",
        special="`CompressedManifestStaticFilesStorage`, served by WhiteNoise.",
        holds="Every static file is found under its hashed name.",
        settings={
            "INSTALLED_APPS": ["whitenoise.runserver_nostatic", *APPS],
            "MIDDLEWARE": [
                MIDDLEWARE[0],
                "whitenoise.middleware.WhiteNoiseMiddleware",
                *MIDDLEWARE[1:],
            ],
            "STORAGES": {
                "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
                "staticfiles": {
                    "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
                },
            },
        },
        static=r"^/static/.+\.[0-9a-f]{12}\.",
        needs=("whitenoise",),
    ),
    Setup(
        name="debug",
        special="`DEBUG` on, as while developing.",
        holds="Everything; all other rows have it off.",
        settings={"DEBUG": True},
    ),
)
