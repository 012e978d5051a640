"""The tag that shows totals and charts above the list of payments."""

from typing import Any

from django import template
from django.template import Context

__all__ = ["payments_pages_totals", "register"]

register = template.Library()


@register.inclusion_tag("admin/payments_pages/transaction/totals.html", takes_context=True)
def payments_pages_totals(context: Context) -> dict[str, Any]:
    """Compute the totals, in one query. Needs `request` in the context."""
    # Every template engine imports this module, even on a site without Django's admin.
    from payments_pages.admin.transactions.totals import (  # noqa: PLC0415
        HEIGHT,
        SLOT,
        WIDTH,
        build_strip,
    )

    sizes = {"width": WIDTH, "height": HEIGHT, "slot": SLOT}
    return {"strip": build_strip(context["request"]), **sizes}
