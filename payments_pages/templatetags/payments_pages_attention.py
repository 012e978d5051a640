"""The tag that shows "Needs attention" on the app's index page."""

from typing import Any

from django import template
from django.template import Context

__all__ = ["payments_pages_attention", "register"]

register = template.Library()


@register.inclusion_tag("admin/payments_pages/attention.html", takes_context=True)
def payments_pages_attention(context: Context) -> dict[str, Any]:
    """Read what needs attention, if the reader may see payments. Needs `request`."""
    # Every template engine imports this module, even on a site without Django's admin.
    from payments_pages.admin.index import attention_lines, verify_reference_url  # noqa: PLC0415

    request = context["request"]
    lines = attention_lines(request)
    return {
        "permitted": lines is not None,
        "lines": lines,
        "verify_reference_url": verify_reference_url(request),
    }
