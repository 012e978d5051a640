"""What one call of `confirm_payment` was asked to do."""

from dataclasses import dataclass
from uuid import UUID

from payments_pages.choices import Door

__all__ = ["Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The arguments of `confirm_payment`, and the reference's key.

    `vouched` is true for a `signed_success`, too. `deliver_now` is true wherever `DELIVERY` is
    "inline".
    """

    reference: str
    key: str
    door: Door
    page_token: UUID | None
    refresh: bool
    vouched: bool
    signed_success: bool
    deliver_now: bool
    client_ip: str
    actor: str
