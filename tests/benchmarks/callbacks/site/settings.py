"""Settings of one site: those of a new Django project, and what that site's module adds.

BENCH_SITE       the site's module, such as `tests.benchmarks.floor`
BENCH_DATABASE   as JSON, `DATABASES["default"]`
BENCH_SERVICE    where the service's API answers
"""

import json
import os
from importlib import import_module

from tests.support.base_settings import *  # noqa: F403 - settings modules are made this way
from tests.support.base_settings import INSTALLED_APPS

site = import_module(f"{os.environ['BENCH_SITE']}.site")

SECRET_KEY = "only for a benchmark"
ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
ROOT_URLCONF = f"{os.environ['BENCH_SITE']}.urls"
DATABASES = {"default": json.loads(os.environ["BENCH_DATABASE"])}
INSTALLED_APPS = [*INSTALLED_APPS, "tests.benchmarks.callbacks.site", *site.APPS]
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
