"""The site for a WSGI server."""

from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.wsgi import get_wsgi_application


class StaticFiles(StaticFilesHandler):
    """The part of a proxy that serves static files, wherever `STATIC_URL` says that payers find them."""

    def get_base_url(self) -> str:
        return "/static/"

    def file_path(self, url: str) -> str:
        return url.partition("/static/")[2]


application = get_wsgi_application()
if not any("whitenoise" in name for name in settings.MIDDLEWARE):
    application = StaticFiles(application)
