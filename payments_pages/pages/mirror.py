"""Let the mirror of a page follow the service, and remember what staff had set before.

What payers see is what the service has, so the mirror always shows that. Where it is not what
was last set here, the page's `drift` keeps ours, by field, until staff decide which one stands.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from payments_pages.client import PageResource
from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.pages.slugs import slug_key

__all__ = [
    "DRIFTING",
    "UPDATABLE",
    "follow",
    "mirrored_fields",
    "mode_of",
    "note_drift",
    "note_inactive",
]

UPDATABLE: Final = ("name", "description", "amount", "active")
"""Fields that the service lets us change (docs/service.md: Fields accepted on update)."""

OURS: Final = ("id", "token", "seller", "made_here")
"""Fields of a row that the service does not know."""

DRIFTING: Final = (*UPDATABLE, "redirect_url")
"""Fields whose change at the service staff must hear of."""


def follow(page: PaymentPage, resource: PageResource, *, ours: Collection[str] = ()) -> PaymentPage:
    """Make the mirror show what the service answered, and save it.

    `ours` names the fields that this answer is about because we have just set them: they are
    no drift any more. Fields that an answer leaves out keep their value: a create's answer
    echoes neither the amount nor the redirect address (docs/service.md: Payment page). A row that had
    the slug until now loses it: the service has given it to this page. Raise `IntegrityError`,
    and save nothing, if another row has the number.
    """
    fields = mirrored_fields(resource)
    note_drift(page, fields)
    note_inactive(page, fields)
    page.drift = {name: value for name, value in page.drift.items() if name not in ours}
    for name, value in fields.items():
        setattr(page, name, value)
    page.synced_at, page.missing_since = timezone.now(), None
    try:
        _save(page)
    except IntegrityError:
        _save(page)  # somebody took the slug's key between our two statements
    return page


def _save(page: PaymentPage) -> None:
    rows = PaymentPage.objects.primary()
    with transaction.atomic(using=rows.db):
        rows.filter(slug_key=page.slug_key).exclude(pk=page.pk).update(slug_key=None)
        # Not who sells it: staff may have said so since this page was read.
        fields = [field.name for field in page._meta.concrete_fields if field.name not in OURS]  # noqa: SLF001 - Django documents it
        page.save(using=rows.db, update_fields=fields if page.pk else None)


def note_drift(page: PaymentPage, fields: Mapping[str, Any]) -> None:
    """Keep in `page.drift` what is about to be replaced by `fields`; the row is not saved.

    The oldest value stays, for that is what staff had set; when the service is back at it,
    there is no drift. A redirect address that we never knew is not one that was changed.
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


def note_inactive(page: PaymentPage, fields: Mapping[str, Any]) -> None:
    """Keep in `page.inactive_since` when the page went off sale; the row is not saved.

    By the service's own time of the change. Where that has not moved on since we last looked, it
    tells of an earlier change: then it is now, as far as anybody knows. Of a page that was never
    seen active it is not known.
    """
    active = fields.get("active", page.active)
    if active:
        page.inactive_since = None
    elif page.active and page.remote_id is not None:
        before, updated = page.updated_at, fields.get("updated_at")
        moved = updated is not None and (before is None or updated > before)
        page.inactive_since = updated if moved else timezone.now()


def mode_of(resource: PageResource) -> str:
    """Return the mode a page is of: as the service says, else our key's."""
    return resource.domain or conf.mode


def mirrored_fields(resource: PageResource) -> dict[str, Any]:
    """Return the mirror's fields that an answer speaks about, with their values."""
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
        fields["currency"] = resource.currency.upper()
    if "custom_fields" in resource.present:
        fields["custom_fields"] = list(resource.custom_fields)
    moments = {"created_at": resource.created_at, "updated_at": resource.updated_at}
    return fields | {name: moment for name, moment in moments.items() if moment is not None}
