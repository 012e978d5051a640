"""Write a page's values from the service into its row, and record the values they replace.

Payers see the service's values, so the row always has those. If such a value is not the one that
was last set here, the page's `drift` has the local value, by field, until staff choose one.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from payments_pages.client import PageResource
from payments_pages.conf import conf
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.money import fold_currency
from payments_pages.pages.slugs import slug_key

__all__ = [
    "DRIFTING",
    "UPDATABLE",
    "mirror_page",
    "mirrored_fields",
    "mode_of",
    "record_drift",
    "record_inactive",
]

UPDATABLE: Final = ("name", "description", "amount", "active")
"""The fields that can be changed at the service (docs/service.md: Fields accepted on update)."""

LOCAL_FIELDS: Final = ("id", "token", "seller", "made_here", "creating_until")
"""The fields that only this site sets; the service does not know them."""

DRIFTING: Final = (*UPDATABLE, "redirect_url")
"""The fields whose change at the service is shown to staff."""


def mirror_page(
    page: PaymentPage, resource: PageResource, *, local: Collection[str] = ()
) -> PaymentPage:
    """Write a resource into the row of its page, and save the row.

    - `local` names the fields that this site has just set at the service: their drift ends.
    - A field that the response leaves out keeps its value. The response to a create has neither
      the amount nor the redirect address (docs/service.md: Payment page).
    - Another row that has the slug loses its slug key: the service gave the slug to this page.

    Raise `IntegrityError`, and save nothing, if another row has the page's number.
    """
    fields = mirrored_fields(resource)
    record_drift(page, fields)
    record_inactive(page, fields)
    page.drift = {name: value for name, value in page.drift.items() if name not in local}
    for name, value in fields.items():
        setattr(page, name, value)
    page.synced_at, page.missing_since = timezone.now(), None
    try:
        _save(page)
    except IntegrityError:
        _save(page)  # another row took the slug key between the two statements
    return page


def _save(page: PaymentPage) -> None:
    rows = PaymentPage.objects.primary()
    with transaction.atomic(using=rows.db):
        rows.filter(slug_key=page.slug_key).exclude(pk=page.pk).update(slug_key=None)
        # Not `seller`: staff may have set it since this page was read.
        columns = page._meta.concrete_fields  # noqa: SLF001 - Django documents it
        names = [column.name for column in columns if column.name not in LOCAL_FIELDS]
        page.save(using=rows.db, update_fields=names if page.pk else None)
        Fulfilment.objects.primary().mark_for_decision()


def record_drift(page: PaymentPage, fields: Mapping[str, Any]) -> None:
    """Set `page.drift` to the values that `fields` will replace; the row is not saved.

    - A value that is already in the drift stays: it is the one that staff set.
    - If the service has that value again, the field's drift ends.
    - A redirect address is no drift if the row had none before.
    """
    drift = dict(page.drift)
    for name in DRIFTING:
        before = getattr(page, name)
        if name not in fields or fields[name] == before:
            continue
        if name == "redirect_url" and not before:
            continue
        drift.setdefault(name, before)
        if drift[name] == fields[name]:
            del drift[name]
    page.drift = drift


def record_inactive(page: PaymentPage, fields: Mapping[str, Any]) -> None:
    """Set `page.inactive_since` to the time of the page's deactivation; the row is not saved.

    - An active page has None.
    - A page that is inactive from now on has the service's `updated_at`. If that time is not
      newer than the row's, it is the time of an earlier change: the current time is used.
    - A page that was never seen active keeps None: nobody knows the time.
    """
    active = fields.get("active", page.active)
    if active:
        page.inactive_since = None
    elif page.active and page.remote_id is not None:
        before, updated = page.updated_at, fields.get("updated_at")
        is_newer = updated is not None and (before is None or updated > before)
        page.inactive_since = updated if is_newer else timezone.now()


def mode_of(resource: PageResource) -> str:
    """Return the mode of a page: the service's `domain`, or the mode of this site's key if blank."""
    return resource.domain or conf.mode


def mirrored_fields(resource: PageResource) -> dict[str, Any]:
    """Return the values of the row's fields that the response has, by field."""
    mode = mode_of(resource)
    fields: dict[str, Any] = {
        "remote_id": resource.id,
        "domain": mode,
        "slug": resource.slug,
        "slug_key": slug_key(resource.slug, mode),
    }
    for name in ("name", "description", "active", "amount", "redirect_url", "metadata"):
        if name in resource.present:
            fields[name] = getattr(resource, name)
    if "currency" in resource.present:
        fields["currency"] = fold_currency(resource.currency)
    if "custom_fields" in resource.present:
        fields["custom_fields"] = list(resource.custom_fields)
    times = {"created_at": resource.created_at, "updated_at": resource.updated_at}
    return fields | {name: time for name, time in times.items() if time is not None}
