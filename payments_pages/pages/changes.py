"""Create and change pages at the service, then write its response into the mirror."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from payments_pages.client import Client, PageResource, get_client
from payments_pages.conf import conf
from payments_pages.db import refuse_open_transaction
from payments_pages.exceptions import InvalidResponse, NotFound, PageError, ServiceError
from payments_pages.models import PaymentPage
from payments_pages.money import MAX_AMOUNT
from payments_pages.pages.differences import (
    describe_differences,
    may_be_truncated,
    mirrored_value,
    record_differences,
)
from payments_pages.pages.drafts import (
    claim_draft,
    confirm_draft,
    find_draft,
    insert_draft,
    release_draft,
    unconfirmed_rows,
)
from payments_pages.pages.links import callback_url, public_url
from payments_pages.pages.mirror import UPDATABLE, mirror_page
from payments_pages.pages.origins import return_origin
from payments_pages.pages.slugs import check_slug_text, make_slug, slug_key

__all__ = [
    "callback_url",
    "create_page",
    "keep_remote",
    "public_url",
    "refresh_page",
    "resume_page",
    "send_local_back",
    "sendable_drift",
    "set_active",
    "slug_key",
    "update_page",
]

MAX_NAME = 255


def create_page(
    *,
    name: str,
    amount: int | None,
    description: str = "",
    slug: str = "",
    custom_fields: Sequence[Mapping[str, Any]] = (),
    metadata: Mapping[str, Any] | None = None,
    site_url: str = "",
) -> PaymentPage:
    """Create a page at the service and return its row.

    - `amount` is in minor units; None means that the payer chooses the amount.
    - A blank `slug` is replaced by a random one.
    - `site_url` is the origin of the callback URL if the setting `SITE_URL` is empty.

    Raise `PageError` if a value is not accepted, and `ServiceError` if the service refuses the
    page or cannot be reached. If the service's response is lost, the row stays without a number
    (`remote_id`). Creating the same slug again then adopts the page that the service has, instead
    of posting a second one (docs/cases.md C53). While one caller creates a page, another with the
    same slug gets `PageError` and posts nothing. If the service changed a value, the page's
    `differences` has both values.
    """
    refuse_open_transaction("create_page() was called")
    name = _check_name(name).strip()
    _check_amount(amount)
    slug = check_slug_text(slug) if slug.strip() else make_slug()
    return_origin(site_url)
    client = get_client()
    _look_for_holder(client, slug)
    page = find_draft(slug)
    requested = {"slug": slug, "name": name, "amount": amount, "description": description}
    requested["active"] = True
    if page is not None:
        if (adopted := resume_page(page)) is not None:
            record_differences(adopted, requested)
            return adopted
    elif not client.check_slug(slug):
        raise PageError(_("This slug is taken. Choose another one."), field="slug")
    save = insert_draft if page is None else claim_draft
    page = page or PaymentPage(slug=slug, slug_key=slug_key(slug), made_here=True)
    page.name, page.amount, page.description, page.domain = name, amount, description, conf.mode
    page.custom_fields, page.metadata = list(custom_fields), dict(metadata or {})
    page.redirect_url = callback_url(page, site_url)
    save(page)
    resource = _post(client, page)
    try:
        confirm_draft(page, resource)
    except PageError:
        unconfirmed_rows(page).delete()
        raise
    record_differences(page, requested)
    return page


def _look_for_holder(client: Client, slug: str) -> None:
    """Refresh the page that has this slug here, if the service says that the slug is free.

    The page may have been deleted or renamed at the service since the last sync. Then it keeps its
    name and token, which its payments need, and gives up its slug (docs/cases.md F09).
    """
    pages = PaymentPage.objects.primary().confirmed()
    holder = pages.filter(slug_key=slug_key(slug), missing_since__isnull=True).first()
    if holder is None:
        return
    # Without an answer the slug counts as taken.
    with suppress(ServiceError, PageError):
        if client.check_slug(slug):
            refresh_page(holder)


def resume_page(page: PaymentPage) -> PaymentPage | None:
    """Fetch the page of an unconfirmed row by its slug, and mirror it; None if there is none.

    Raise `PageError` if another row already has that page's number or slug.
    """
    refuse_open_transaction("resume_page() was called")
    try:
        resource = get_client().fetch_page(page.slug)
    except NotFound:
        return None
    if resource.slug != page.slug:
        raise InvalidResponse("The service answered with another page than the one asked for.")
    return confirm_draft(page, resource)


def refresh_page(page: PaymentPage) -> PaymentPage:
    """Fetch a page from the service and mirror it.

    Raise `PageError` if

    - the service does not have the page: the row is then marked as missing;
    - the service has not confirmed the page yet;
    - the page belongs to the other mode.
    """
    refuse_open_transaction("refresh_page() was called")
    return mirror_page(page, _fetch(page, _checked_number(page)))


def update_page(
    page: PaymentPage,
    *,
    name: str | None = None,
    amount: int | None = None,
    description: str | None = None,
    active: bool | None = None,
) -> PaymentPage:
    """Change a page at the service, then in the mirror. None leaves a field as it is.

    - `amount` is in minor units. The service cannot remove a fixed amount from a page.
    - The interface requires `name` in every update. If it is None, the page is fetched first and
      the service gets its own name back, byte for byte: the mirror's may be truncated or old.
    - If the response does not show the new values, the page is fetched. The mirror then has the
      service's values, and the page's `differences` has both.

    Raise `PageError` if the service took none of the changes.
    """
    refuse_open_transaction("update_page() was called")
    number = _checked_number(page)
    client = get_client()
    changes = {"name": name, "amount": amount, "description": description, "active": active}
    changes = {key: value for key, value in changes.items() if value is not None}
    _check_amount(amount)
    sent_name = _fetch_name(page, number) if name is None else _check_name(name)
    requested = {"name": page.name, **changes}
    resource = client.update_page(
        number, name=sent_name, amount=amount, description=description, active=active
    )
    if resource.id != number or not _has_values(resource, {**changes, "name": sent_name}):
        resource = _fetch(page, number)
    mirror_page(page, resource, local=changes)
    record_differences(page, requested)
    if changes and changes.keys() <= {name for name, _requested, _remote in page.differences}:
        message = _("The service did not take the change. %(differences)s")
        raise PageError(message % {"differences": describe_differences(page)})
    return page


def set_active(page: PaymentPage, *, active: bool) -> PaymentPage:
    """Activate or deactivate a page at the service; its name there stays the same, byte for byte."""
    return update_page(page, active=active)


def sendable_drift(page: PaymentPage) -> dict[str, Any]:
    """Return the values of a page's drift that an update can set at the service again.

    Three kinds of values are left out (docs/service.md: Fields accepted on update):

    - the redirect address: no update accepts it;
    - an amount of None (the payer chooses): the service cannot remove an amount;
    - a text as long as its column, which may be truncated.
    """
    return {
        name: value
        for name, value in page.drift.items()
        if name in UPDATABLE and value is not None and not may_be_truncated(name, value)
    }


def keep_remote(page: PaymentPage) -> PaymentPage:
    """End a page's drift by accepting the service's values."""
    page.drift = {}
    page.save(update_fields=["drift"])
    return page


def send_local_back(page: PaymentPage) -> PaymentPage:
    """Send the values of a page's drift to the service again; values it cannot take stay in `drift`.

    The page is fetched first, so that only values which still differ are sent. Raise `PageError`
    if none of them can be sent.
    """
    local = sendable_drift(refresh_page(page))
    if page.drift and not local:
        raise PageError(_("The service has no way to set this again. Make a new page."))
    return update_page(page, **local) if local else page


def _post(client: Client, page: PaymentPage) -> PageResource:
    metadata = {**(page.metadata or {}), "payments_pages_token": str(page.token)}
    try:
        return client.create_page(
            name=page.name,
            amount=page.amount,
            description=page.description,
            slug=page.slug,
            redirect_url=page.redirect_url,
            metadata=metadata,
            custom_fields=page.custom_fields,
        )
    except ServiceError as error:
        if not error.maybe_done:
            unconfirmed_rows(page).delete()
            raise
        return _find_created(client, page, error)


def _find_created(client: Client, page: PaymentPage, lost: ServiceError) -> PageResource:
    """Fetch, by its slug, the page whose creation got no response; raise `PageError` if it fails."""
    try:
        return client.fetch_page(page.slug)
    except ServiceError:
        release_draft(page)
        message = _(
            "The service did not answer. The page may exist there: save again with the slug "
            "“%(slug)s” and it will be found rather than made twice."
        ) % {"slug": page.slug}
        raise PageError(message, field="slug", slug=page.slug) from lost


def _fetch(page: PaymentPage, number: int) -> PageResource:
    """Fetch a page by its number; mark it as missing if the service does not have it."""
    try:
        resource = get_client().fetch_page(number)
    except NotFound as error:
        page.missing_since = page.missing_since or timezone.now()
        page.save(update_fields=["missing_since"])
        raise PageError(_("The service does not have this page any more.")) from error
    if resource.id != number:
        raise InvalidResponse("The service answered with another page than the one asked for.")
    return resource


def _fetch_name(page: PaymentPage, number: int) -> str:
    """Fetch and mirror a page; return its name at the service, byte for byte.

    Raise `PageError` if the service's response has no name.
    """
    resource = _fetch(page, number)
    mirror_page(page, resource)
    if resource.whole_name is None:
        message = _(
            "The service says no name of this page and takes no change without one. Nothing was "
            "sent: give the page a name."
        )
        raise PageError(message, field="name")
    return resource.whole_name


def _checked_number(page: PaymentPage) -> int:
    """Return the page's number at the service; raise `PageError` if it may not be used."""
    if page.remote_id is None:
        raise PageError(_("This page is not confirmed by the service yet. Sync it first."))
    if page.domain and page.domain != conf.mode:
        # The secret key belongs to one mode. In the other, this number may be another page.
        raise PageError(
            _("This page belongs to the other mode. It cannot be changed from this site.")
        )
    return page.remote_id


def _check_name(name: str) -> str:
    if not name.strip():
        raise PageError(_("A page needs a name."), field="name")
    if len(name) > MAX_NAME:
        raise PageError(_("This name is too long."), field="name")
    return name


def _check_amount(amount: int | None) -> None:
    """Raise `PageError` unless the amount is None or a positive int of minor units."""
    if amount is not None and (type(amount) is not int or not 0 < amount <= MAX_AMOUNT):
        raise PageError(_("Enter an amount above zero."), field="amount")


def _has_values(resource: PageResource, sent: Mapping[str, object]) -> bool:
    """Return whether a response has the values that were sent; the name byte for byte."""
    remote = {name: getattr(resource, name) for name in sent if name in resource.present}
    expected = {name: mirrored_value(name, value) for name, value in sent.items()}
    return {**remote, "name": resource.whole_name} == {**expected, "name": sent["name"]}
