"""Answer those who come by HTTP: payers, their phones, the service, a monitor.

A view checks the request, takes the reference, calls one use case and turns its result into an
answer. `health` is not routed: include it where only your monitor can reach it.
"""

from payments_pages.views.callback import callback
from payments_pages.views.confirm import confirm
from payments_pages.views.health import health
from payments_pages.views.result import result, result_status
from payments_pages.views.webhook import webhook

__all__ = ["callback", "confirm", "health", "result", "result_status", "webhook"]
