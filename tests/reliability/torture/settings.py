"""Settings of a run: its own database, sandbox and folder, from the variable TORTURE."""

import json
import os
from typing import Any

from tests.support.base_settings import *  # noqa: F403 - settings modules are made this way
from tests.support.base_settings import INSTALLED_APPS, MIDDLEWARE_WITH_LOCALE

RUN: dict[str, Any] = json.loads(os.environ["TORTURE"])

SECRET_KEY = "only for torture"
INSTALLED_APPS = [*INSTALLED_APPS, "payments_pages", "tests.reliability.torture.effects"]
# A site that asks everybody to log in: every door must have opted out of that, too.
MIDDLEWARE = [
    *MIDDLEWARE_WITH_LOCALE,
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
]
# Every door must have opted out of the request's transaction.
DATABASES = {"default": {**RUN["database"], "ATOMIC_REQUESTS": True}}
LOGGING_CONFIG = None
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.reliability.torture.urls"
PAYMENTS_PAGES = {
    "SECRET_KEY": RUN["secret_key"],
    "BASE_URL": RUN["base_url"],
    "PAY_URL": RUN["pay_url"],
    "SITE_URL": "https://merchant.example",
    "HANDLER": f"tests.reliability.torture.handlers.give_{RUN['handler']}",
    "HANDLER_ATOMIC": RUN["handler"] == "atomic",
    "DELIVERY": RUN["delivery"],
    "NUDGE": "tests.reliability.torture.messages.nudge" if RUN["delivery"] == "queued" else "",
    "WEBHOOK_HEADER": "X-Torture-Signature",
    "WEBHOOK_ALGORITHM": "sha256",
    # All visitors come from one address, and every lie of the service counts as a guess.
    "UNKNOWN_PER_ADDRESS": 10**9,
    "UNKNOWN_IN_ALL": 10**9,
    # Short, so that twenty seconds hold many a deadline, lease and backoff.
    "CONNECT_TIMEOUT": 0.4,
    "READ_TIMEOUT": 0.4,
    "DEADLINE": 0.8,
    "LEASE": 1,
    "BACKOFF": 0.2,
    # A kill counts as an attempt: a reference must not be held only because it was killed often.
    "MAX_ATTEMPTS": 100_000,
}
