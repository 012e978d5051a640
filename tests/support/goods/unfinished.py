"""Handlers that give back work instead of doing it, and how each may be dressed."""

import functools
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction as db_transaction

from payments_pages.models import Fulfilment
from tests.support.goods.handlers import give


async def coroutine(_fulfilment: Fulfilment) -> None:
    raise AssertionError("nobody runs this")


def generator(fulfilment: Fulfilment) -> Iterator[None]:
    give(fulfilment)
    yield


async def async_generator(_fulfilment: Fulfilment) -> AsyncIterator[None]:
    yield None


def returns_coroutine(fulfilment: Fulfilment) -> Any:
    """Write, and give back a coroutine: no look at this function tells."""
    give(fulfilment)
    return coroutine(fulfilment)


def returns_generator(fulfilment: Fulfilment) -> Any:
    give(fulfilment)
    return generator(fulfilment)


def returns_async_generator(fulfilment: Fulfilment) -> Any:
    give(fulfilment)
    return async_generator(fulfilment)


class Promise:
    def __await__(self) -> Generator[None, None, None]:
        yield


def returns_awaitable(fulfilment: Fulfilment) -> Any:
    give(fulfilment)
    return Promise()


def returns_map(fulfilment: Fulfilment) -> Any:
    """Give all lines of an order, lazily: none is given."""
    return map(give, [fulfilment])


class AsyncObject:
    async def __call__(self, _fulfilment: Fulfilment) -> None: ...


class Object:
    async def method(self, _fulfilment: Fulfilment) -> None: ...

    def __call__(self, fulfilment: Fulfilment) -> None:
        give(fulfilment)


async_object = AsyncObject()
method = Object().method
partial_coroutine = functools.partial(coroutine)
partial_generator = functools.partial(functools.partial(generator))
partial_object = functools.partial(async_object)
decorated_coroutine = db_transaction.atomic(coroutine)
decorated_generator = functools.partial(db_transaction.atomic(generator))


class DecoratedObject:
    @db_transaction.atomic
    async def __call__(self, _fulfilment: Fulfilment) -> None: ...


decorated_object = DecoratedObject()


def nothing_taken() -> None: ...


def two_taken(_fulfilment: Fulfilment, _more: object) -> None: ...


def by_name_only(*, fulfilment: Fulfilment) -> None: ...


class NothingTaken:
    def __call__(self) -> None: ...


object_nothing_taken = NothingTaken()
partial_nothing_left = functools.partial(give, None)


# What delivers, and looks a little like the above


async def _work(fulfilment: Fulfilment) -> None:
    CALLED.append(fulfilment)


CALLED: list[Fulfilment] = []


def _with_mailer(function: Callable[..., object]) -> Callable[[Fulfilment], object]:
    @functools.wraps(function)
    def run(fulfilment: Fulfilment) -> object:
        return function(object(), fulfilment)

    return run


@_with_mailer
def injected(_mailer: object, fulfilment: Fulfilment) -> None:
    give(fulfilment)


sound_object = Object()
sound_partial = functools.partial(two_taken, _more=1)
run_to_its_end = async_to_sync(_work)
decorated = db_transaction.atomic(give)
unreadable = dict.fromkeys


def list_of_results(fulfilment: Fulfilment) -> list[object]:
    return [give(fulfilment)]


def cyclic(fulfilment: Fulfilment) -> None:
    give(fulfilment)


cyclic.__wrapped__ = cyclic  # type: ignore[attr-defined]
