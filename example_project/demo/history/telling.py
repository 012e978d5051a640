"""Tell the whole history, once."""

import datetime as dt
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils import timezone

from example_project.demo.control import Control
from example_project.demo.history.clock import set_back
from example_project.demo.history.decisions import decide, order_in_popups, pay_twice, reverse
from example_project.demo.history.fates import PAGES, drift, fates, grow_old, leave_unconfirmed
from example_project.demo.history.payers import PAYERS
from example_project.demo.history.payments import Payment, Till
from example_project.demo.history.sales import sales
from example_project.demo.history.scenes import play
from example_project.demo.history.troubles import (
    ARCHIVE,
    failures,
    off_sale,
    on_lost_pages,
    troubles,
)
from example_project.demo.stock import shelve
from payments_pages.choices import Door, VerificationState
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Verification

__all__ = ["SALES", "SERVICE_DOWN", "UNKNOWN", "tell"]

SALES = 70
SERVICE_DOWN = "demo-service-down"
"""The reference about which the service gives no answer for as long as the demo runs."""
UNKNOWN = "demo-unknown-reference"


def tell(
    control: Control,
    log: Path,
    say: Callable[[str], object] = lambda _text: None,
    *,
    sold: int = SALES,
    now: dt.datetime | None = None,
) -> None:
    """Give a stocked shop its past; what has been told before is not told again.

    `sold` is how many ordinary sales there are beside the troubles. What the app logs meanwhile
    goes to the file `log`: it is loud about failures that are meant to happen here. The site
    must not run yet, for webhooks are switched off while this process plays all the doors.
    """
    with _logged_to(log), _without_webhooks(control):
        till = Till(control, now or timezone.now())
        if not till.knows(SERVICE_DOWN):
            say("Telling a month's history …")
            _tell_all(till, sold)
        _keep_the_service_down(till)


def _tell_all(till: Till, sold: int) -> None:
    shelve(till.control, PAGES)
    grow_old(till)
    delivered, take_back = reverse(till)
    payments = (*on_lost_pages(), *off_sale(), *troubles(till), *sales(sold))
    play(
        [
            delivered,
            *map(till.scene, payments),
            *fates(till),
            *order_in_popups(till),
            *pay_twice(till),
            *decide(till),
            *failures(till),
        ]
    )
    if not till.knows(UNKNOWN):
        confirm_payment(UNKNOWN, door=Door.COMMAND, vouched=True)
    take_back()
    drift(till.control)
    leave_unconfirmed(till.control)
    set_back()


def _keep_the_service_down(till: Till) -> None:
    """Let the service fail for one reference; the sandbox forgets faults when it stops."""
    payment = Payment(reference=SERVICE_DOWN, slug=ARCHIVE, payer=PAYERS[0], days_ago=0.02)
    told = till.knows(SERVICE_DOWN)
    settled = Verification.objects.filter(
        reference=SERVICE_DOWN, state=VerificationState.SETTLED
    ).exists()
    if settled:
        return
    till.control.post(
        "faults", operation="verify", kind="status", status=503, reference=SERVICE_DOWN
    )
    if not told:
        till.take(payment)


@contextmanager
def _without_webhooks(control: Control) -> Iterator[None]:
    """Keep the sandbox from announcing what is paid; the reference comes by the story's door."""
    address = control.get("state")["account"]["webhook_url"]
    control.post("account", webhook_url="")
    try:
        yield
    finally:
        control.post("account", webhook_url=address)


@contextmanager
def _logged_to(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    logger = logging.getLogger("payments_pages")
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
        logger.propagate = propagate
