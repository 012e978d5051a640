"""Settings of one site: those of a new Django project, and what that site's module adds.

BENCH_SITE       the site's module, such as `tests.benchmarks.floor`
BENCH_DATABASE   as JSON, `DATABASES["default"]`
BENCH_SERVICE    where the service's API answers
"""

import json
import os
from importlib import import_module

site = import_module(f"{os.environ['BENCH_SITE']}.site")

SECRET_KEY = "only for a benchmark"
ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
ROOT_URLCONF = f"{os.environ['BENCH_SITE']}.urls"
STATIC_URL = "/static/"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": json.loads(os.environ["BENCH_DATABASE"])}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "tests.benchmarks.callbacks.site",
    *site.APPS,
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
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
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
# The answers are counted; nobody reads a log.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"none": {"class": "logging.NullHandler"}},
    "root": {"handlers": ["none"], "level": "WARNING"},
    "loggers": {"django": {"handlers": ["none"], "level": "WARNING", "propagate": False}},
}
globals().update(site.settings(os.environ["BENCH_SERVICE"]))
SITE_MODULE = site
