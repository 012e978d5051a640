"""Settings of a run: its own database, sandbox and folder, from the variable TORTURE."""

import json
import os
from typing import Any

RUN: dict[str, Any] = json.loads(os.environ["TORTURE"])

SECRET_KEY = "only for torture"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "payments_pages",
    "torture.effects",
]
DATABASES = {"default": RUN["database"]}
LOGGING_CONFIG = None
PAYMENTS_PAGES = {
    "SECRET_KEY": RUN["secret_key"],
    "BASE_URL": RUN["base_url"],
    "PAY_URL": RUN["pay_url"],
    "SITE_URL": "https://merchant.example",
    "HANDLER": f"torture.handlers.give_{RUN['handler']}",
    "HANDLER_ATOMIC": RUN["handler"] == "atomic",
    # Short, so that twenty seconds hold many a deadline, lease and backoff.
    "CONNECT_TIMEOUT": 0.4,
    "READ_TIMEOUT": 0.4,
    "DEADLINE": 0.8,
    "LEASE": 1,
    "BACKOFF": 0.2,
    # Kills count as attempts: a hot reference must not be held for having been unlucky.
    "MAX_ATTEMPTS": 100_000,
}
