"""The example project's settings, for the test client on a database that DATABASE_URL names."""

from example_project.settings import *  # noqa: F403 - the same site

ALLOWED_HOSTS = ["testserver"]
LOGGING = {"version": 1, "disable_existing_loggers": False, "root": {"level": "CRITICAL"}}
