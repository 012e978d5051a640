"""The path of one reference for coroutines."""

from uuid import UUID

from asgiref.sync import sync_to_async

from payments_pages.choices import Door
from payments_pages.confirmation.confirm import confirm_payment
from payments_pages.confirmation.outcomes import Confirmation
from payments_pages.db import refuse_open_transaction_around_loop

__all__ = ["aconfirm_payment"]


async def aconfirm_payment(
    reference: str,
    *,
    door: Door = Door.CODE,
    page_token: UUID | None = None,
    refresh: bool = False,
    vouched: bool = False,
    signed_success: bool = False,
    told_paid: bool = False,
    deliver_now: bool = False,
    client_ip: str = "",
    actor: str = "",
    event: str = "",
    waits: bool = True,
) -> Confirmation:
    """Do what `confirm_payment` does, and let the event loop work meanwhile.

    It takes the same arguments and raises the same errors. It runs in the thread in which Django
    runs the synchronous code of the same request, for that thread has the request's database
    connections, and Django closes them when the request ends.

    If the caller is cancelled, a call that has begun goes on in its thread to the end. One that
    still waits for its thread does not begin.
    """
    refuse_open_transaction_around_loop("aconfirm_payment() was called")
    return await sync_to_async(confirm_payment, thread_sensitive=True)(
        reference,
        door=door,
        page_token=page_token,
        refresh=refresh,
        vouched=vouched,
        signed_success=signed_success,
        told_paid=told_paid,
        deliver_now=deliver_now,
        client_ip=client_ip,
        actor=actor,
        event=event,
        waits=waits,
    )
