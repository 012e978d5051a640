"""The suite's site as a server of its own: its doors, and the admin's login page beside them."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

__all__ = ["application"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.settings")
settings.ALLOWED_HOSTS = ["127.0.0.1"]
application = get_wsgi_application()
# Models can be imported from here on.
rivals = import_module("payments_pages.confirmation.rivals")
vars(rivals)["RIVAL_PATIENCE"] = float(os.environ["TESTS_RIVAL_PATIENCE"])
