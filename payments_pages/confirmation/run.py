"""What one call of `confirm_payment` was asked to do."""

from dataclasses import dataclass
from uuid import UUID

from payments_pages.choices import Door

__all__ = ["Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The arguments of `confirm_payment`, and the reference's key.

    `told_paid`: the client says that it is paid. `vouched` is also true if `signed_success` is true. `deliver_now` is also true if `DELIVERY` is
    "inline".
    """

    reference: str
    key: str
    door: Door
    page_token: UUID | None
    refresh: bool
    vouched: bool
    signed_success: bool
    told_paid: bool
    deliver_now: bool
    client_ip: str
    actor: str
    event: str
    waits: bool

    @property
    def says_paid(self) -> bool:
        """Say whether this call itself means that somebody believes the reference to be paid.

        A payer who is back from the service's page does, and staff who ask about it, and the
        merchant's own code that vouches for it. A popup asks after each of its ends, and says if it
        was paid. A command says nothing: it may name all that wait.
        """
        if self.signed_success or self.told_paid or self.door == Door.CALLBACK:
            return True
        return self.vouched and self.door in {Door.ADMIN, Door.CODE}
