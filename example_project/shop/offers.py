"""Put every new payment page on the shelf."""

from typing import Any

from django.db.models.signals import post_save
from django.dispatch import receiver

from example_project.shop.models import Offer
from payments_pages.models import PaymentPage

__all__ = ["offer_page"]


@receiver(post_save, sender=PaymentPage, dispatch_uid="shop.offer_page")
def offer_page(instance: PaymentPage, *, raw: bool = False, **_signal: Any) -> None:
    """Offer a plain licence on a page, once the service has it, however it was made.

    So whoever makes a page in the admin can sell at once. Pages of other sites on the same account
    are mirrored, and not offered here. `raw` is a fixture being loaded,
    which brings its own offers.
    """
    if not raw and instance.remote_id is not None and instance.sold_here:
        Offer.objects.get_or_create(page=instance)
