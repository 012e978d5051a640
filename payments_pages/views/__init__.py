"""The views: for payers and their phones, for the service, for a monitor.

A view checks the request, reads the reference, calls one use case and returns its result as a
response. `health` is not in our URLconf: route it where only your monitor can reach it.
"""

from payments_pages.views.brand import brand
from payments_pages.views.callback import callback
from payments_pages.views.confirm import confirm
from payments_pages.views.health import health
from payments_pages.views.result import result, result_status
from payments_pages.views.webhook import webhook

__all__ = ["brand", "callback", "confirm", "health", "result", "result_status", "webhook"]
