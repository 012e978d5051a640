"""Settings of the suite: SQLite, or the server that DATABASE_URL names."""

import json
import os
from importlib.util import find_spec
from pathlib import Path

from tests.support import base_settings
from tests.support.base_settings import *  # noqa: F403 - settings modules are made this way
from tests.support.database_settings import database
from tests.support.mails import LOCMEM, mail_settings

BASE = Path(__file__).resolve().parent.parent.parent

SECRET_KEY = "only for tests"
TIME_ZONE = "Asia/Hebron"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ar", "العربية"), ("he", "עברית")]
ROOT_URLCONF = "tests.support.urls"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"  # not ours, on purpose: case C65
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

INSTALLED_APPS = [
    *base_settings.INSTALLED_APPS,
    "payments_pages",
    "example_project.shop",
    "tests.support.goods",
]
MIDDLEWARE = base_settings.MIDDLEWARE_WITH_LOCALE
# A queue on the database itself, of Django's own tasks; where it is not installed its tests are
# left out.
if find_spec("django_tasks_db"):
    INSTALLED_APPS.append("django_tasks_db")
    TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}

globals().update(mail_settings(LOCMEM))
DATABASES = {"default": database(BASE / "var")}

SILENCED_SYSTEM_CHECKS: list[str] = []
if os.environ.get("TESTS_SQLITE") in {"deferred", "default"}:
    # The run is there to see what this check warns of.
    SILENCED_SYSTEM_CHECKS.append("payments_pages.W003")

# A child process of a test uses that test's own database, sandbox and settings.
if name := os.environ.get("TESTS_DATABASE_NAME"):
    DATABASES["default"]["NAME"] = name

PAYMENTS_PAGES = {
    "SECRET_KEY": "sk_test_suite",
    "BASE_URL": "http://127.0.0.1:9/api",
    "PAY_URL": "http://127.0.0.1:9/pay",
    "SITE_URL": "https://testserver",
    "HANDLER": "tests.support.goods.handlers.deliver",
}
PAYMENTS_PAGES |= json.loads(os.environ.get("TESTS_PAYMENTS_PAGES", "{}"))
