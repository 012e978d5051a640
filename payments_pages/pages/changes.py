"""Create and change pages: the service first, the mirror follows its answer."""

from collections.abc import Mapping, Sequence
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
    as_mirrored,
    describe_differences,
    may_be_cut,
    note_differences,
)
from payments_pages.pages.drafts import (
    confirm_draft,
    find_draft,
    save_again,
    save_draft,
    unconfirmed,
)
from payments_pages.pages.links import callback_url, public_url
from payments_pages.pages.mirror import UPDATABLE, follow
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
    "sendable",
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
    """Create a page at the service and mirror it. `amount` is minor units; None: the payer chooses.

    Ask first whether the slug is free; make one up when it is blank, so that a page whose
    creation was not answered can be found again. `site_url` is used when `SITE_URL` is not set.
    Raise `PageError` for what must be typed differently, `ServiceError` when the service refuses
    or cannot be reached. When its answer was lost the row stays, without a number: creating the
    same slug again adopts the page that is there instead of posting a second one (docs/cases.md C53).
    What the service did otherwise than it was asked is in the page's `differences`.
    """
    refuse_open_transaction("create_page() was called")
    name = _check_name(name).strip()
    _check_amount(amount)
    slug = check_slug_text(slug) if slug.strip() else make_slug()
    return_origin(site_url)
    client = get_client()
    page = find_draft(slug)
    asked = {"slug": slug, "name": name, "amount": amount, "description": description}
    asked["active"] = True
    if page is not None:
        if (adopted := resume_page(page)) is not None:
            note_differences(adopted, asked)
            return adopted
    elif not client.check_slug(slug):
        raise PageError(_("This slug is taken. Choose another one."), field="slug")
    save = save_draft if page is None else save_again
    page = page or PaymentPage(slug=slug, slug_key=slug_key(slug), made_here=True)
    page.name, page.amount, page.description, page.domain = name, amount, description, conf.mode
    page.custom_fields, page.metadata = list(custom_fields), dict(metadata or {})
    page.redirect_url = callback_url(page, site_url)
    save(page)
    resource = _post(client, page)
    try:
        confirm_draft(page, resource)
    except PageError:
        unconfirmed(page).delete()
        raise
    note_differences(page, asked)
    return page


def resume_page(page: PaymentPage) -> PaymentPage | None:
    """Adopt the page at the service that this unfinished row asked for; None if there is none.

    Raise `PageError` if that page has a row already: it was given this slug since.
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
    """Ask the service how the page is now, and let the mirror follow.

    Raise `PageError` if the service does not have it (it is then marked as missing), or was
    never heard to have made it.
    """
    refuse_open_transaction("refresh_page() was called")
    return follow(page, _fetch(page, _number(page)))


def update_page(
    page: PaymentPage,
    *,
    name: str | None = None,
    amount: int | None = None,
    description: str | None = None,
    active: bool | None = None,
) -> PaymentPage:
    """Change a page at the service, then the mirror. None leaves a field as it is.

    `name` is always sent, because the interface requires it: if it is None, the service is asked
    for the page first and gets its own name back byte for byte, which the mirror may hold cut
    or old. Of the others only what is given is sent. The service has no way to take a
    fixed amount off a page. When the answer does not show what was sent, the page is fetched, and
    the mirror shows what is there: what is otherwise than asked is in the page's `differences`.
    Raise `PageError` if nothing of what is given was taken.
    """
    refuse_open_transaction("update_page() was called")
    number = _number(page)
    client = get_client()
    given = {"name": name, "amount": amount, "description": description, "active": active}
    given = {key: value for key, value in given.items() if value is not None}
    _check_amount(amount)
    sent = _name_there(page, number) if name is None else _check_name(name)
    asked = {"name": page.name, **given}
    resource = client.update_page(
        number, name=sent, amount=amount, description=description, active=active
    )
    if resource.id != number or not _shows(resource, {**given, "name": sent}):
        resource = _fetch(page, number)
    follow(page, resource, ours=given)
    note_differences(page, asked)
    if given and given.keys() <= {name for name, _asked, _there in page.differences}:
        message = _("The service did not take the change. %(differences)s")
        raise PageError(message % {"differences": describe_differences(page)})
    return page


def set_active(page: PaymentPage, *, active: bool) -> PaymentPage:
    """Switch a page's public address on or off; its name stays byte for byte what it is there."""
    return update_page(page, active=active)


def sendable(page: PaymentPage) -> dict[str, Any]:
    """Return what of a page's drift can be sent back (docs/service.md: Fields accepted on update).

    Not a redirect address, and not that the payer chooses the amount: the service has no way. Nor
    a text as long as the mirror keeps one, which may have been cut.
    """
    return {
        name: value
        for name, value in page.drift.items()
        if name in UPDATABLE and value is not None and not may_be_cut(name, value)
    }


def keep_remote(page: PaymentPage) -> PaymentPage:
    """Settle a page's drift: what the service has stands."""
    page.drift = {}
    page.save(update_fields=["drift"])
    return page


def send_local_back(page: PaymentPage) -> PaymentPage:
    """Settle a page's drift: set at the service again what can be set; the rest stays noted.

    Looks first, for only what differs now is sent. Raise `PageError` if nothing can be sent.
    """
    ours = sendable(refresh_page(page))
    if page.drift and not ours:
        raise PageError(_("The service has no way to set this again. Make a new page."))
    return update_page(page, **ours) if ours else page


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
            unconfirmed(page).delete()
            raise
        return _look_for(client, page, error)


def _look_for(client: Client, page: PaymentPage, lost: ServiceError) -> PageResource:
    """Look for the page whose creation was not answered; its row stays if it cannot be seen."""
    try:
        return client.fetch_page(page.slug)
    except ServiceError:
        message = _(
            "The service did not answer. The page may exist there: save again with the slug "
            "“%(slug)s” and it will be found rather than made twice."
        ) % {"slug": page.slug}
        raise PageError(message, field="slug", slug=page.slug) from lost


def _fetch(page: PaymentPage, number: int) -> PageResource:
    """Ask for a page by its number; mark it as missing if the service does not have it."""
    try:
        resource = get_client().fetch_page(number)
    except NotFound as error:
        page.missing_since = page.missing_since or timezone.now()
        page.save(update_fields=["missing_since"])
        raise PageError(_("The service does not have this page any more.")) from error
    if resource.id != number:
        raise InvalidResponse("The service answered with another page than the one asked for.")
    return resource


def _name_there(page: PaymentPage, number: int) -> str:
    """Ask for the name as the service has it, byte for byte; let the mirror follow."""
    resource = _fetch(page, number)
    follow(page, resource)
    if resource.whole_name is None:
        message = _(
            "The service says no name of this page and takes no change without one. Nothing was "
            "sent: give the page a name."
        )
        raise PageError(message, field="name")
    return resource.whole_name


def _number(page: PaymentPage) -> int:
    if page.remote_id is None:
        raise PageError(_("This page is not confirmed by the service yet. Sync it first."))
    if page.domain and page.domain != conf.mode:
        # Our key is of one mode; the same number may be another page in the other.
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
    """Raise `PageError` before any call for what is not a positive int of minor units."""
    if amount is not None and (type(amount) is not int or not 0 < amount <= MAX_AMOUNT):
        raise PageError(_("Enter an amount above zero."), field="amount")


def _shows(resource: PageResource, wanted: Mapping[str, object]) -> bool:
    """Tell whether an answer holds what was asked for; the name byte for byte."""
    has = {name: getattr(resource, name) for name in wanted if name in resource.present}
    kept = {name: as_mirrored(name, value) for name, value in wanted.items()}
    return {**has, "name": resource.whole_name} == {**kept, "name": wanted["name"]}
