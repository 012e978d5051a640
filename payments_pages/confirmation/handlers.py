"""Find and call the merchant's function."""

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator

from asgiref.sync import iscoroutinefunction

from payments_pages.conf import conf, load_function
from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment

__all__ = ["PLAIN_FUNCTION", "Handler", "is_unfinished", "load_handler", "takes_one_argument"]

Handler = Callable[[Fulfilment], object]


PLAIN_FUNCTION = (
    "write def deliver(fulfilment), without async and yield; "
    "asgiref.sync.async_to_sync makes such a function of an async one"
)


def load_handler() -> Handler:
    """Return the function that `HANDLER` names; raise `ConfigurationError` if there is none.

    The returned function raises `PermanentFulfilmentError` if the merchant's function returns a
    coroutine or a generator: nobody runs it, so no value was given, and a further attempt would not
    help.
    """
    return functools.partial(_call, load_function("HANDLER", conf.handler))


def _call(handler: Handler, fulfilment: Fulfilment) -> None:
    result = handler(fulfilment)
    lazy = isinstance(result, AsyncIterator | map | filter) or inspect.isgenerator(result)
    if not lazy and not inspect.isawaitable(result):
        return
    if inspect.iscoroutine(result):
        result.close()  # Python would warn that it was never awaited.
    raise PermanentFulfilmentError(
        f"The handler gave nothing: it returned a {type(result).__name__}, which nobody runs. "
        f"To deliver, {PLAIN_FUNCTION}. Then try the delivery again."
    )


def is_unfinished(handler: Callable[..., object], *, wrapped: bool = False) -> bool:
    """Say whether a call only creates a coroutine or a generator, and so does no work.

    With `wrapped`, also look at the functions under its decorators. A decorator may still run the
    coroutine or generator that its function returns.
    """
    return any(
        iscoroutinefunction(one)
        or inspect.isgeneratorfunction(one)
        or inspect.isasyncgenfunction(one)
        for one in _layers(handler, wrapped=wrapped)
    )


def _layers(handler: object, *, wrapped: bool) -> Iterator[Callable[..., object]]:
    """Yield the callables that a call of `handler` goes through, from the outside to the inside."""
    seen: set[int] = set()
    while callable(handler) and id(handler) not in seen:
        seen.add(id(handler))
        yield handler
        if isinstance(handler, functools.partial):
            handler = handler.func
        elif wrapped and hasattr(handler, "__wrapped__"):
            handler = handler.__wrapped__
        elif not inspect.isroutine(handler) and not inspect.isclass(handler):
            handler = handler.__call__


def takes_one_argument(handler: Callable[..., object]) -> bool:
    """Say whether `handler` can be called with one argument; True if that cannot be known.

    The signature of a decorator counts, not that of the function under it, because the decorator
    may add arguments.
    """
    try:
        inspect.signature(handler, follow_wrapped=False).bind(object())
    except ValueError:
        return True  # Some functions that are written in C have no signature.
    except TypeError:
        return False
    return True
