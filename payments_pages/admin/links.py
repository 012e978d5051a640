"""URLs of the admin site that a request came in by; a project may have several."""

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

__all__ = ["link_to", "reverse_admin", "site_name"]


def reverse_admin(site: str, name: str, *args: object) -> str:
    """Return the URL called `admin:<name>` of the admin site with that name.

    If there is no site of that name, Django takes its default admin site.
    """
    return reverse(f"admin:{name}", args=args, current_app=site)


def link_to(site: str, name: str, *args: object) -> str:
    """Return the same URL; "" if that site has no such page.

    A project may unregister one of our models, or register it with an admin class of its own: then
    a link to its page is left out (docs/cases.md D33).
    """
    try:
        return reverse_admin(site, name, *args)
    except NoReverseMatch:
        return ""


def site_name(request: HttpRequest) -> str:
    """Return the name of the admin site that serves this request."""
    match = request.resolver_match
    return match.namespace if match else "admin"
