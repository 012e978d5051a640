"""Settings of the site that is measured: our doors, a handler that gives nothing, no middleware."""

import os

import environ

__all__: list[str] = []

SECRET_KEY = "only for a benchmark"
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "testserver"]
ROOT_URLCONF = "tests.benchmarks.urls"
WSGI_APPLICATION = "tests.benchmarks.capacity.wsgi.application"
STATIC_URL = "/static/"
USE_TZ = True
INSTALLED_APPS = ["payments_pages"]
MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        **environ.Env.db_url_config(
            os.environ.get("DATABASE_URL") or "postgres://postgres@127.0.0.1:5432/pp_capacity"
        ),
        "CONN_MAX_AGE": None,
    }
}
LOGGING = {"version": 1, "root": {"level": "CRITICAL"}}
PAYMENTS_PAGES = {
    "SECRET_KEY": "sk_test_bench",
    "BASE_URL": os.environ.get("CAPACITY_BASE_URL", "http://127.0.0.1:9/api"),
    "PAY_URL": os.environ.get("CAPACITY_PAY_URL", "http://127.0.0.1:9/pay"),
    "SITE_URL": "http://127.0.0.1",
    "HANDLER": "tests.benchmarks.capacity.handlers.give_nothing",
    # Payers, not guessers: the budgets for unknown references are another matter.
    "UNKNOWN_PER_ADDRESS": 1_000_000,
    "UNKNOWN_IN_ALL": 1_000_000,
}
