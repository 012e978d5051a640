"""Let the process die at the worst moment: the handler's work is done, nothing is on record."""

from contextvars import ContextVar

from payments_pages.choices import Door, Outcome
from payments_pages.conf import conf
from payments_pages.confirmation.confirm import confirm_payment
from payments_pages.confirmation.handlers import load_handler
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.testing.sites import configured
from payments_pages.testing.sweeps import run_sweep

__all__ = ["deliver_after_crash", "work_then_crash"]

_handler: ContextVar[str] = ContextVar("handler")


class _Crash(BaseException):
    """End a run as a kill would: nothing of ours may catch it and write something down."""


def work_then_crash(fulfilment: Fulfilment) -> None:
    """Run the site's own handler, then die. Stands in for `HANDLER` during the crash."""
    with configured(HANDLER=_handler.get()):
        handler = load_handler()
    handler(fulfilment)
    raise _Crash


def deliver_after_crash(reference: str, *, page: PaymentPage | None = None) -> Outcome:
    """Die as soon as the handler has returned, then let the sweep deliver; return what is true.

    The process only seems to die: the handler's transaction is rolled back, nothing is written
    down about the attempt, and its lease runs out.

    What the handler wrote to the same database is gone with the crash, so an atomic handler
    gives once. What it did elsewhere – an e-mail, a call, another database – is done, and is done
    again with the same `fulfilment.idempotency_key`: count it afterwards. Raise `AssertionError`
    if the handler was not reached, for then nothing was tested.
    """
    found = None
    token = _handler.set(conf.handler)
    try:
        with configured(HANDLER=f"{__name__}.{work_then_crash.__name__}"):
            found = confirm_payment(
                reference,
                door=Door.CALLBACK,
                page_token=None if page is None else page.token,
                deliver_now=True,
            )
    except _Crash:
        pass
    finally:
        _handler.reset(token)
    if found is not None:
        raise AssertionError(f"The handler did not return for {reference}: {found.outcome}.")
    run_sweep(after=conf.lease + 1)
    return confirm_payment(reference, door=Door.CALLBACK).outcome
