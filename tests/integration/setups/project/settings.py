"""The settings of the site: those of a new project, and what its row says otherwise."""

import os
import sys
from pathlib import Path
from typing import Any

from tests.integration.setups.project.databases import databases
from tests.integration.setups.rows import find
from tests.support import base_settings
from tests.support.base_settings import *  # noqa: F403 - settings modules are made this way

SETUP = find(os.environ["SETUP"])
FOLDER = Path(os.environ["SETUP_FOLDER"])
SERVICE = os.environ["SETUP_SERVICE"]

if SETUP.driver == "psycopg2":
    # Django takes psycopg 3 wherever it is installed.
    sys.modules["psycopg"] = None  # type: ignore[assignment]

SECRET_KEY = "only for tests"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
STATIC_URL = "static/"
TIME_ZONE = "Asia/Hebron"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ar", "العربية"), ("he", "עברית")]
ROOT_URLCONF = SETUP.urls
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_ROOT = FOLDER / "static"
MIDDLEWARE = base_settings.MIDDLEWARE_WITH_LOCALE
INSTALLED_APPS = [*base_settings.INSTALLED_APPS, "payments_pages", "tests.support.goods"]
DATABASES = databases(SETUP, FOLDER)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    # Its own handler mails errors to the site's managers where DEBUG is off.
    "loggers": {"django": {"handlers": [], "level": "INFO"}},
}

for _name, _value in SETUP.settings.items():
    if _name == "DATABASES":
        continue  # merged above
    globals()[_name] = _value
    if _value is None:
        # A row says so of a setting that its project never mentions.
        del globals()[_name]

PAYMENTS_PAGES: dict[str, Any] = {
    "SECRET_KEY": "sk_test_setups",
    "BASE_URL": f"{SERVICE}/api",
    "PAY_URL": f"{SERVICE}/pay",
    "SITE_URL": os.environ["SETUP_ORIGIN"],
    "HANDLER": "tests.support.goods.handlers.deliver",
    "ATTRIBUTION": ("expected", "metadata", "callback"),
    "WEBHOOK_HEADER": "x-lahza-signature",
    "WEBHOOK_ALGORITHM": "sha256",
    **SETUP.payments,
}
