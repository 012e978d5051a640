"""The tags that show what needs attention: on the index pages, and above the list of payments."""

from typing import Any

from django import template
from django.apps import apps
from django.template import Context

__all__ = ["payments_pages_attention", "payments_pages_queues", "register"]

register = template.Library()


@register.inclusion_tag("admin/payments_pages/attention.html", takes_context=True)
def payments_pages_attention(context: Context, *, names_app: bool = False) -> dict[str, Any]:
    """Read what needs attention, if the reader may see payments. Needs `request`.

    With `names_app` the heading has the app's name: on a page that is not about this app alone.
    """
    # Every template engine imports this module, even on a site without Django's admin.
    from payments_pages.admin.index import attention_lines, verify_reference_url  # noqa: PLC0415

    request = context["request"]
    lines = attention_lines(request)
    return {
        "app_name": apps.get_app_config("payments_pages").verbose_name if names_app else "",
        "permitted": lines is not None,
        "lines": lines,
        "verify_reference_url": verify_reference_url(request),
    }


@register.inclusion_tag("admin/payments_pages/queues.html", takes_context=True)
def payments_pages_queues(context: Context) -> dict[str, Any]:
    """Count the held payments, above a list that does not show them alone. Needs `request`."""
    # Every template engine imports this module, even on a site without Django's admin.
    from payments_pages.admin.index import queue_lines  # noqa: PLC0415

    # For the same reason.
    from payments_pages.admin.transactions.filters import HoldFilter  # noqa: PLC0415

    request = context["request"]
    chosen = request.GET.get(HoldFilter.parameter_name)
    return {
        "lines": queue_lines(request) if chosen is None else [],
        "is_queue": chosen in {HoldFilter.decision, HoldFilter.delivery},
        "result_count": context["cl"].result_count,
    }
