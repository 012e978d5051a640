"""Keep the rows of pages that were asked for and that the service has not confirmed yet."""

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from payments_pages.client import PageResource
from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage
from payments_pages.pages.links import slug_url
from payments_pages.pages.mirror import follow, mode_of
from payments_pages.pages.slugs import slug_key

__all__ = ["confirm_draft", "find_draft", "save_again", "save_draft", "unconfirmed"]

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
    """Find the row whose creation under this slug was not confirmed; None if there is none.

    Raise `PageError` if a page of ours has the slug. One that is missing at the service has not.
    """
    page = PaymentPage.objects.primary().filter(slug_key=slug_key(slug)).first()
    if page is None or page.remote_id is None:
        return page
    if page.missing_since is None:
        raise _taken()
    return None


def unconfirmed(page: PaymentPage) -> QuerySet[PaymentPage]:
    """Find the row unless somebody who saved at the same moment has had it confirmed."""
    return PaymentPage.objects.primary().filter(pk=page.pk, remote_id__isnull=True)


def save_again(page: PaymentPage) -> None:
    """Save what was typed into a draft; raise `PageError` if it is confirmed by now."""
    typed = {name: getattr(page, name) for name in _TYPED}
    if not unconfirmed(page).update(**typed):
        raise _taken()


def save_draft(page: PaymentPage) -> None:
    """Insert a draft; raise `PageError` if somebody has just taken its slug."""
    holders = PaymentPage.objects.primary().filter(slug_key=page.slug_key)
    try:
        with transaction.atomic(using=holders.db):
            # A page that the service has lost does not keep its slug for ever.
            lost = holders.filter(remote_id__isnull=False, missing_since__isnull=False)
            lost.update(slug_key=None)
            page.save(force_insert=True, using=holders.db)
    except IntegrityError as error:
        if holders.exists():
            raise _taken() from error
        raise


def confirm_draft(page: PaymentPage, resource: PageResource) -> PaymentPage:
    """Bind a draft to the page that the service says it made, and let the mirror follow.

    Raise `PageError`, and save nothing, if another row has the number or the slug: no row is
    bound to a second number.
    """
    mode = mode_of(resource)
    has_slug = Q(slug_key=slug_key(resource.slug, mode), missing_since__isnull=True)
    rows = PaymentPage.objects.primary().exclude(pk=page.pk)
    rivals = rows.filter(Q(domain=mode, remote_id=resource.id) | has_slug)
    rival = rivals.first()
    if rival is None:
        try:
            return follow(page, resource)
        except IntegrityError:
            rival = rivals.first()
            if rival is None:
                raise
    message = _(
        "The service answered with page number %(number)s at %(address)s, and the page “%(name)s” "
        "here has that number or that address already. Sync, and look at both."
    ) % {"number": resource.id, "address": slug_url(resource.slug), "name": rival.name}
    raise PageError(message)


def _taken() -> PageError:
    return PageError(_("You already have a page with this slug."), field="slug")
