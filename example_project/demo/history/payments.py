"""Let somebody pay at the sandbox, days ago, and let the reference reach the shop by a door."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings

from example_project.demo.control import Control
from example_project.demo.history.payers import Payer
from example_project.demo.history.scenes import Scene
from example_project.shop.handlers import ASKED
from payments_pages.choices import Door
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.models import PaymentPage, Verification
from payments_pages.references import reference_key

__all__ = ["Payment", "Till"]

_VOUCHED = frozenset({Door.WEBHOOK, Door.COMMAND, Door.ADMIN})
_TYPING = 48
"""Seconds that a payer spends on the service's page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """Describe one payment on a page, and the door its reference comes in by.

    `fields` go with the payment, such as an `amount` in minor units; `said` replaces fields of
    what the service says of it afterwards. A blank `slug` is a payment that no page led to.
    `claim` is the page whose callback the payer comes back by, its own unless given.
    """

    reference: str
    slug: str
    payer: Payer
    days_ago: float
    door: Door = Door.CALLBACK
    claim: str = ""
    status: str = "success"
    fields: Mapping[str, Any] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)


class Till:
    """Take payments, each reference once however often the story is told."""

    def __init__(self, control: Control, now: dt.datetime) -> None:
        self.control = control
        self._now = now
        self._pages: dict[str, PaymentPage] = {}
        self._known = set(Verification.objects.values_list("reference_key", flat=True))

    def knows(self, reference: str) -> bool:
        """Tell whether the shop has heard of a reference."""
        return reference_key(reference) in self._known

    def page(self, slug: str) -> PaymentPage:
        """Return one of the shop's pages."""
        if slug not in self._pages:
            self._pages[slug] = PaymentPage.objects.get(slug=slug)
        return self._pages[slug]

    def ago(self, days: float) -> dt.datetime:
        """Return the moment so many days before the story is told."""
        return self._now - dt.timedelta(days=days)

    def scene(self, payment: Payment) -> Scene:
        """Return the scene in which it is paid and confirmed."""
        return Scene(payment.days_ago, partial(self.take, payment))

    def take(self, payment: Payment) -> Confirmation | None:
        """Let it be paid and confirmed; None if that was done before."""
        if self.knows(payment.reference):
            return None
        self.pay(payment)
        return self.confirm(payment)

    def pay(self, payment: Payment) -> None:
        """Let it be paid at the sandbox, as of `days_ago`."""
        times = self.times(payment)
        if payment.slug:
            self.control.post(
                "pay",
                page=payment.slug,
                reference=payment.reference,
                status=payment.status,
                **payment.payer.fields(),
                **{**times, **payment.fields},
            )
        else:
            customer = {"id": 1, "customer_code": "CUS_demo", **payment.payer.fields()}
            body = {**times, "customer": customer, **payment.fields}
            self.control.post("transactions", reference=payment.reference, **body)
        if payment.said:
            self.control.post(f"transactions/{payment.reference}", **payment.said)

    def confirm(self, payment: Payment, *, refresh: bool = False) -> Confirmation:
        """Let the reference come in by its door."""
        slug = payment.claim or payment.slug
        claims = payment.door is Door.CALLBACK and slug
        self._known.add(reference_key(payment.reference))
        return confirm_payment(
            payment.reference,
            door=payment.door,
            page_token=self.page(slug).token if claims else None,
            refresh=refresh,
            vouched=payment.door in _VOUCHED,
            deliver_now=True,
        )

    def times(self, payment: Payment) -> dict[str, Any]:
        """Return when it was paid, and what the service logged of it."""
        ended = self.ago(payment.days_ago)
        began = ended - dt.timedelta(seconds=_TYPING)
        paid = payment.status in {"success", "reversed"}
        history = [
            {"type": "action", "message": "Opened the page", "time": 0},
            {"type": "action", "message": "Sent the card's details", "time": _TYPING - 4},
        ]
        if paid:
            history.append({"type": "success", "message": "Card accepted", "time": _TYPING})
        elif payment.status == "failed":
            history.append({"type": "error", "message": "Card refused", "time": _TYPING})
        return {
            "created_at": _iso(began),
            "paid_at": _iso(ended) if paid else None,
            "log": {
                "start_time": int(began.timestamp()),
                "time_spent": _TYPING,
                "attempts": 1,
                "errors": int(payment.status == "failed"),
                "success": paid,
                "mobile": len(payment.payer.email) % 2 == 0,
                "input": [],
                "history": history,
            },
        }

    def metadata(self, slug: str, *, asked: str = "", **answers: str) -> dict[str, Any]:
        """Return the metadata of a payment on a page, with what its payer answered.

        `asked` is what the shop's handler is asked to do, as by a button of the sandbox's page.
        """
        address = settings.PAYMENTS_PAGES["PAY_URL"]
        fields = [
            {
                "display_name": label,
                "variable_name": label.lower().replace(" ", "_"),
                "value": value,
            }
            for label, value in answers.items()
        ]
        marks = {ASKED: asked} if asked else {}
        return {"referrer": f"{address}/{slug}", "custom_fields": fields, **marks}


def _iso(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
