"""What gunicorn serves: the site that is measured."""

from django.core.wsgi import get_wsgi_application

__all__ = ["application"]

application = get_wsgi_application()
