"""Drafts: the rows of pages whose creation the service has not confirmed yet."""

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.utils.translation import gettext as _

from payments_pages.client import PageResource
from payments_pages.conf import conf
from payments_pages.db import UtcNow, from_now
from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage
from payments_pages.pages.links import slug_url
from payments_pages.pages.mirror import mirror_page, mode_of
from payments_pages.pages.slugs import slug_key

__all__ = [
    "claim_draft",
    "confirm_draft",
    "find_draft",
    "insert_draft",
    "release_draft",
    "unconfirmed_rows",
]

_TYPED = (
    "name",
    "amount",
    "description",
    "custom_fields",
    "metadata",
    "redirect_url",
    "domain",
)


def find_draft(slug: str) -> PaymentPage | None:
    """Return the draft with this slug, or None.

    Raise `PageError` if a confirmed page has the slug, unless that page is missing at the service.
    """
    page = PaymentPage.objects.primary().filter(slug_key=slug_key(slug)).first()
    if page is None or page.remote_id is None:
        return page
    if page.missing_since is None:
        raise _slug_taken()
    return None


def unconfirmed_rows(page: PaymentPage) -> QuerySet[PaymentPage]:
    """Return a queryset of the page's row; it is empty if the page is confirmed by now."""
    return PaymentPage.objects.primary().filter(pk=page.pk, remote_id__isnull=True)


def claim_draft(page: PaymentPage) -> None:
    """Save the values that staff typed into a draft, and take the right to create it.

    Raise `PageError` if another caller has that right now, or has confirmed the page: the service
    may give a page with the same slug to each of two callers (docs/cases.md D17).
    """
    typed = {name: getattr(page, name) for name in _TYPED}
    nobody = Q(creating_until__isnull=True) | Q(creating_until__lte=UtcNow())
    rows = unconfirmed_rows(page)
    if rows.filter(nobody).update(**typed, creating_until=_lease()):
        return
    raise _being_created() if rows.exists() else _slug_taken()


def release_draft(page: PaymentPage) -> None:
    """Let the next caller create the draft at once."""
    unconfirmed_rows(page).update(creating_until=None)


def _lease() -> CombinedExpression:
    """Return the end of a lease: longer than the call that creates a page and its look-up take."""
    return from_now(3 * conf.limits.deadline)


def insert_draft(page: PaymentPage) -> None:
    """Insert a draft, with the right to create it.

    Raise `PageError` if somebody has just taken its slug.
    """
    holders = PaymentPage.objects.primary().filter(slug_key=page.slug_key)
    try:
        with transaction.atomic(using=holders.db):
            # A page that is missing at the service does not keep its slug.
            lost = holders.filter(remote_id__isnull=False, missing_since__isnull=False)
            lost.update(slug_key=None)
            page.save(force_insert=True, using=holders.db)
            holders.update(creating_until=_lease())
    except IntegrityError as error:
        rival = holders.first()
        if rival is None:
            raise
        raise (_being_created() if rival.remote_id is None else _slug_taken()) from error


def confirm_draft(page: PaymentPage, resource: PageResource) -> PaymentPage:
    """Mirror the page that the service created into its draft; this confirms the draft.

    Raise `PageError`, and save nothing, if another row has the page's number or its slug.
    """
    mode = mode_of(resource)
    has_slug = Q(slug_key=slug_key(resource.slug, mode), missing_since__isnull=True)
    rows = PaymentPage.objects.primary().exclude(pk=page.pk)
    rivals = rows.filter(Q(domain=mode, remote_id=resource.id) | has_slug)
    rival = rivals.first()
    if rival is None:
        try:
            return mirror_page(page, resource)
        except IntegrityError:
            rival = rivals.first()
            if rival is None:
                raise
    message = _(
        "The service answered with page number %(number)s at %(address)s, and the page “%(name)s” "
        "here has that number or that address already. Sync, and look at both."
    ) % {"number": resource.id, "address": slug_url(resource.slug), "name": rival.name}
    raise PageError(message)


def _slug_taken() -> PageError:
    return PageError(_("You already have a page with this slug."), field="slug")


def _being_created() -> PageError:
    message = _(
        "A page with this slug is being made right now: perhaps this form was sent twice. Save again "
        "in a few seconds: no second page will be made."
    )
    return PageError(message, field="slug")
