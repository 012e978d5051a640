"""Configure the shop from the environment; `.env.example` lists every variable.

Without any variable it is the demo: SQLite in `var/`, and the sandbox of `payments_pages` on
this machine as the service. The library itself reads no environment; this project does.
"""

from pathlib import Path

import environ  # type: ignore[import-untyped]  # ships no types
from django.utils.translation import gettext_lazy as _

from example_project import delivery
from example_project.databases import database
from example_project.secret_key import machine_secret_key, random_card_key

ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var"

env = environ.Env()
# Real variables win over the file.
env.read_env(ROOT / ".env")

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or machine_secret_key(VAR / "secret_key")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])

SITE_URL = env.str("SITE_URL", default="http://127.0.0.1:8000")
SERVICE_URL = env.str("SERVICE_URL", default="http://127.0.0.1:8001")
PAYMENTS_PAGES = {
    "SECRET_KEY": env.str("PAYMENTS_SECRET_KEY", default="sk_test_sandbox"),
    "BASE_URL": env.str("PAYMENTS_BASE_URL", default=f"{SERVICE_URL}/api"),
    "PAY_URL": env.str("PAYMENTS_PAY_URL", default=f"{SERVICE_URL}/pay"),
    "SITE_URL": SITE_URL,
    "HANDLER": "example_project.shop.handlers.deliver",
    # Without "amount": the demo shows a payment for which nothing says what was bought.
    "ATTRIBUTION": ("expected", "metadata", "callback"),
    "MERCHANT": {
        "NAME": {"en": "Olive Shop", "ar": "متجر الزيتون", "he": "חנות הזית"},
        "CONTACT": "help@shop.example",
        "NEXT_STEPS": {
            "en": "Thank you. What you bought is ready.",
            "ar": "شكرًا لك. ما اشتريته جاهز.",
            "he": "תודה. מה שקניתם מוכן.",
        },
        "NEXT_URL": "example_project.shop.views.next_url",
        "NEXT_LABEL": {"en": "See your purchase", "ar": "عرض مشترياتك", "he": "לרכישה שלך"},
        "LOGO": "shop/icon.svg",
        "COLOUR": "#47611f",
        "RECEIPT": False,
    },
    "SAVE_CARD": "example_project.shop.cards.owner",
    # The newest first; `payments_pages_rekey` encrypts by it what the others have encrypted.
    "CARD_KEYS": env.list("PAYMENTS_CARD_KEYS", default=[])
    or [machine_secret_key(VAR / "card_key", random_card_key)],
    "MAX_ATTEMPTS": env.int("PAYMENTS_MAX_ATTEMPTS", default=12),
    "MAX_CALLS": env.int("PAYMENTS_MAX_CALLS", default=4),
    "WEBHOOK_HEADER": env.str("PAYMENTS_WEBHOOK_HEADER", default="x-lahza-signature"),
    "WEBHOOK_ALGORITHM": env.str("PAYMENTS_WEBHOOK_ALGORITHM", default="sha256"),
}
# Who delivers: "inline", or a worker on "tasks" (Django's own) or "celery".
SHOP_DELIVERY = env.str("SHOP_DELIVERY", default="inline")
PAYMENTS_PAGES |= delivery.keys(SHOP_DELIVERY)
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="redis://127.0.0.1:6379/0")
CELERY_IMPORTS = ["payments_pages.celery"]
CELERY_TASK_DEFAULT_QUEUE = "shop"
# More than a task may take; the default gives a dead worker's message to another after an hour.
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"visibility_timeout": 600} if CELERY_BROKER_URL.startswith("redis") else {}
)
# The demo alone: the shop says what it is and what to try, and the sandbox speaks its language.
SHOP_SANDBOX_URL = f"{SERVICE_URL}/" if env.bool("SHOP_DEMO", default=False) else ""
# What a browser needs of the service to pay in a popup. The key is public: it only starts payments.
POPUP = {
    "PUBLIC_KEY": env.str("PAYMENTS_PUBLIC_KEY", default="pk_test_sandbox"),
    "INLINE_URL": env.str("PAYMENTS_INLINE_URL", default=f"{SERVICE_URL}/inline.js"),
    "START_URL": env.str("PAYMENTS_START_URL", default=f"{SERVICE_URL}/checkout/start"),
}
# Where a saved card is charged. The call is the sandbox's own: no interface shows it.
CHARGE_URL = env.str("PAYMENTS_CHARGE_URL", default=f"{SERVICE_URL}/api/sandbox/charge")

INSTALLED_APPS = [
    "payments_pages",
    "example_project.shop",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    *delivery.apps(SHOP_DELIVERY),
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"

VAR.mkdir(exist_ok=True)
DATABASES = {"default": database(env.str("DATABASE_URL", default=""), VAR / "shop.sqlite3")}
# One that the site, its sweep and its workers share.
CACHES = {"default": env.cache("CACHE_URL", default=f"filecache://{VAR / 'cache'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("ar", _("Arabic")), ("he", _("Hebrew"))]
TIME_ZONE = "Asia/Hebron"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = VAR / "static"

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "purchases"
LOGOUT_REDIRECT_URL = "storefront"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# Behind TLS everything that carries a session goes over TLS alone; the demo has none.
if SITE_URL.startswith("https://"):
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=3600)
    SECURE_PROXY_SSL_HEADER = (
        ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_TLS_PROXY", default=False) else None
    )
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
