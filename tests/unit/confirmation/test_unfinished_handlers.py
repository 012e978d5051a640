"""A handler that only returns a coroutine or a generator delivers nothing, and this is no delivery."""

import gc
import warnings
from typing import Any

import pytest
from django.core.checks import run_checks

from payments_pages.choices import Door, Outcome, Reason
from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from tests.support.goods import unfinished
from tests.support.goods.models import Good

UNFINISHED = (
    "coroutine", "generator", "async_generator", "method", "async_object", "partial_coroutine",
    "partial_generator", "partial_object",
)  # fmt: skip
DECORATED = ("decorated_coroutine", "decorated_generator", "decorated_object")
ONLY_SEEN_WHEN_CALLED = (
    "returns_coroutine", "returns_generator", "returns_async_generator", "returns_awaitable",
    "returns_map",
)  # fmt: skip
MISSHAPEN = (
    "nothing_taken", "two_taken", "by_name_only", "object_nothing_taken", "partial_nothing_left",
)  # fmt: skip
SOUND = (
    "injected", "sound_object", "sound_partial", "run_to_its_end", "decorated", "unreadable",
    "list_of_results", "cyclic",
)  # fmt: skip


def path(name: str) -> str:
    return f"tests.support.goods.unfinished.{name}"


def found() -> dict[str, str]:
    """The ids of the checks about handlers, each with its whole text."""
    about = {"payments_pages.E007", "payments_pages.E008", "payments_pages.E030"}
    return {m.id: f"{m.msg} {m.hint}" for m in run_checks() if m.id in about}


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_function_that_a_call_does_not_run_is_refused_by_the_check(
    configure: Any, name: str
) -> None:
    configure(HANDLER=path(name))
    assert list(found()) == ["payments_pages.E008"]
    assert "def deliver(fulfilment)" in found()["payments_pages.E008"]


@pytest.mark.parametrize("name", DECORATED)
def test_one_behind_a_decorator_is_refused_by_an_id_of_its_own(configure: Any, name: str) -> None:
    """A decorator may run the coroutine, which a check cannot see: this id can be silenced alone."""
    configure(HANDLER=path(name))
    assert list(found()) == ["payments_pages.E030"]
    assert "SILENCED_SYSTEM_CHECKS" in found()["payments_pages.E030"]


@pytest.mark.parametrize("name", MISSHAPEN)
def test_a_handler_that_cannot_be_called_with_one_argument_is_refused(
    configure: Any, name: str
) -> None:
    configure(HANDLER=path(name))
    assert list(found()) == ["payments_pages.E008"]


@pytest.mark.parametrize("name", [*SOUND, *ONLY_SEEN_WHEN_CALLED])
def test_the_check_passes_what_it_cannot_know_better(configure: Any, name: str) -> None:
    configure(HANDLER=path(name))
    assert found() == {}


@pytest.fixture
def buy(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Any:
    def run(name: str, *, atomic: bool = True) -> Confirmation:
        configure(HANDLER=path(name), HANDLER_ATOMIC=atomic)
        if sandbox.transaction("PPG-1012") is None:
            sandbox.pay("tea-box", reference="PPG-1012")
        return confirm_payment("PPG-1012", door=Door.CALLBACK, page_token=tea_box.token)

    return run


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("name", [*UNFINISHED, *DECORATED, *ONLY_SEEN_WHEN_CALLED])
def test_what_nobody_runs_is_held_for_staff_and_never_marked_delivered(
    buy: Any, name: str, atomic: bool
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Python's own "was never awaited" among them
        assert buy(name, atomic=atomic).outcome is Outcome.HELD
        gc.collect()
    row = Fulfilment.objects.get()
    assert (row.state, row.reason) == (State.HELD, Reason.PERMANENT_ERROR)
    assert row.delivered_at is None
    assert "def deliver(fulfilment)" in row.last_error
    if atomic:
        assert not Good.objects.exists(), "what it wrote before is undone"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["injected", "sound_object", "decorated", "list_of_results"])
def test_what_does_its_work_is_delivered_whatever_it_returns(buy: Any, name: str) -> None:
    assert buy(name).outcome is Outcome.DELIVERED
    assert Good.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_coroutine_that_is_run_to_its_end_delivers(buy: Any) -> None:
    unfinished.CALLED.clear()
    assert buy("run_to_its_end", atomic=False).outcome is Outcome.DELIVERED
    assert len(unfinished.CALLED) == 1


@pytest.mark.django_db(transaction=True)
def test_once_it_is_mended_staff_try_again_and_it_is_delivered(buy: Any, configure: Any) -> None:
    assert buy("coroutine").outcome is Outcome.HELD
    configure(HANDLER="tests.support.goods.handlers.give")
    row = Fulfilment.objects.select_related("transaction").get()
    assert decisions.retry(row.transaction, actor="huda") is Outcome.DELIVERED
    assert Good.objects.count() == 1
