"""URLs of the admin site that a request came in by; a project may have several."""

from django.http import HttpRequest
from django.urls import reverse

__all__ = ["reverse_admin", "site_name"]


def reverse_admin(site: str, name: str, *args: object) -> str:
    """Return the URL called `admin:<name>` of the admin site with that name.

    If there is no site of that name, Django takes its default admin site.
    """
    return reverse(f"admin:{name}", args=args, current_app=site)


def site_name(request: HttpRequest) -> str:
    """Return the name of the admin site that serves this request."""
    match = request.resolver_match
    return match.namespace if match else "admin"
