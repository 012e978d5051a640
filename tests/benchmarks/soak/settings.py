"""The example project's settings, for many payers who all come from one address."""

from example_project.settings import *  # noqa: F403 - the same site
from example_project.settings import PAYMENTS_PAGES

PAYMENTS_PAGES |= {"UNKNOWN_PER_ADDRESS": 10**9, "UNKNOWN_IN_ALL": 10**9}
LOGGING = {"version": 1, "disable_existing_loggers": False, "root": {"level": "CRITICAL"}}
