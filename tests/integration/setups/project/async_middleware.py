"""A middleware that Django can only run in an event loop."""

from collections.abc import Awaitable, Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import async_only_middleware

__all__ = ["count"]

Next = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@async_only_middleware
def count(get_response: Next) -> Next:
    """Mark each answer, so that whoever looks sees that it ran."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        response.headers["X-Counted"] = "1"
        return response

    return middleware
