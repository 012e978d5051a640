"""The site as WSGI, for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.benchmarks.callbacks.site.settings")
application = get_wsgi_application()
