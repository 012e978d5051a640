"""A payer, who pays at the sandbox and comes back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.http import HttpResponse
from django.test import Client
from django.urls import get_script_prefix, reverse

from payments_pages.choices import Outcome
from payments_pages.conf import conf
from payments_pages.confirmation import describe, find_transaction
from payments_pages.models import ExpectedPayment, Fulfilment, PaymentPage
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.signatures import sign

__all__ = ["Visit", "come_back", "pay", "pay_expected", "send_webhook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A payer's visit. `response` is what your site answered; None: the payer did not come back."""

    reference: str
    response: HttpResponse | None = None

    @property
    def outcome(self) -> Outcome:
        """Return the outcome for the reference now; `UNKNOWN` if there is no transaction."""
        found = find_transaction(reference_key(self.reference))
        return Outcome.UNKNOWN if found is None else describe(found.transaction).outcome

    @property
    def fulfilment(self) -> Fulfilment | None:
        """Return the delivery as it is now; None if there is none."""
        found = find_transaction(reference_key(self.reference))
        return found.fulfilment if found is not None else None


def pay(
    sandbox: Sandbox,
    page: PaymentPage,
    *,
    returns: bool = True,
    client: Client | None = None,
    **payment: Any,
) -> Visit:
    """Pay on a page and come back by that page's callback, as a payer's browser does.

    `returns=False` closes the tab after paying: then only a webhook or the sweep tells your site.
    `client` is the browser; None: a new one. Further keywords are those of
    `Sandbox.pay`: `email`, `status="failed"`, `amount` in minor units, `late` in seconds, and any
    field of the transaction, such as `currency="USD"`.
    """
    reference = sandbox.pay(page.slug, **payment)
    if not returns:
        return Visit(reference=reference)
    return come_back(reference, page=page, client=client)


def come_back(
    reference: str, *, page: PaymentPage | None = None, client: Client | None = None
) -> Visit:
    """Return to the callback with a reference: the page's own, or the plain one.

    Raise `AssertionError`, with address and status, if something other than our view answered.
    """
    name = "payments_pages:page-callback" if page else "payments_pages:callback"
    path = _path(name, page.token) if page else _path(name)
    # Secure: a site that redirects to https would answer that redirect instead of the callback's.
    response = (client or Client()).get(path, {conf.reference_params[0]: reference}, secure=True)
    return Visit(reference=reference, response=_ours(response, path))


def pay_expected(
    sandbox: Sandbox,
    expected: ExpectedPayment,
    *,
    returns: bool = True,
    client: Client | None = None,
    **payment: Any,
) -> Visit:
    """Pay an expected payment in a popup or app, and send the reference to `confirm`.

    `returns=False` closes the popup before that: only the sweep tells your site. Further keywords:
    `amount` (minor units) and `currency` in place of the expected ones, for a payer who tampers;
    `status`, `late` and transaction fields as in `Sandbox.end_checkout`. Raise `AssertionError`
    as `come_back` does.
    """
    start = {
        "amount": payment.pop("amount", expected.amount),
        "currency": payment.pop("currency", expected.currency),
    }
    sandbox.start_checkout(expected.reference, **start)
    sandbox.end_checkout(expected.reference, **payment)
    if not returns:
        return Visit(reference=expected.reference)
    path = _path("payments_pages:confirm")
    response = (client or Client()).post(
        path,
        {"reference": expected.reference},
        content_type="application/json",
        secure=True,
    )
    return Visit(reference=expected.reference, response=_ours(response, path))


def send_webhook(
    reference: str,
    event: str = "charge.success",
    *,
    client: Client | None = None,
    signature: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Sign an event with this site's own settings and post it to its webhook; return the response.

    `signature` replaces the right one; `data` is added to the event beside the reference. The body
    decides nothing: make the transaction at the sandbox first. Raise `AssertionError` as
    `come_back` does.
    """
    name = "transaction_reference" if event.startswith("refund.") else "reference"
    body = json.dumps({"event": event, "data": {name: reference, **(data or {})}}).encode()
    if signature is None:
        signature = sign(body, conf.webhook_secrets[0], conf.webhook_algorithm)
    path = _path("payments_pages:webhook")
    response = (client or Client()).post(
        path,
        data=body,
        content_type="application/json",
        headers={conf.webhook_header: signature},
        secure=True,
    )
    return _ours(response, path)


def _path(name: str, *args: object) -> str:
    """Return the path of a view as Django's test client takes it: without `FORCE_SCRIPT_NAME`.

    The client puts it before the path by itself; with `reverse()` alone it would be there twice.
    """
    path = reverse(name, args=args)
    return f"/{path.removeprefix(get_script_prefix())}"


def _ours(response: object, path: str) -> HttpResponse:
    """Return the response of a view of ours; raise `AssertionError` if another one answered.

    A wrong path, a redirect to a login or a page of maintenance would otherwise show only later,
    as a payment that nobody has confirmed (docs/cases.md F14).
    """
    answer = cast("HttpResponse", response)
    if "X-Robots-Tag" in answer.headers:  # every answer of ours has it, and hardly any other
        return answer
    where = answer.headers.get("Location")
    to = f" and leads to {where}" if where else ""
    raise AssertionError(
        f"{path} was answered {answer.status_code}{to}, and not by a view of payments_pages. "
        "Are the URLs included, and does a middleware answer before them?"
    )
