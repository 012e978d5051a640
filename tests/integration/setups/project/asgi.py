"""The site for an ASGI server, its static files included."""

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

application = ASGIStaticFilesHandler(get_asgi_application())
