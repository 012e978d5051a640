"""Create and change pages: the service first, the mirror follows its answer."""

import re
import secrets
import string
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from django.db import IntegrityError
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from payments_pages.client import Client
from payments_pages.conf import conf
from payments_pages.connection import get_client
from payments_pages.databases import refuse_open_transaction, text_key
from payments_pages.exceptions import InvalidResponse, NotFound, PageError, ServiceError
from payments_pages.models import PaymentPage
from payments_pages.resources import PageResource
from payments_pages.storable import INT_MAX

__all__ = [
    "check_slug_text",
    "create_page",
    "follow",
    "mirrored_fields",
    "public_url",
    "resume_page",
    "set_active",
    "slug_key",
    "update_page",
]

MAX_NAME = 255
# The interface gives no rule. Latin letters, digits, "-" and "_" are in every slug seen; one
# made of digits alone could be taken for a page's number in the same place of the path.
_SLUG = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_-]{0,99}", re.ASCII)
_RESERVED = frozenset({"check_slug_availability"})
_TYPED = ("name", "amount", "description", "custom_fields", "metadata", "redirect_url")
_ALPHABET = string.ascii_letters + string.digits


def public_url(page: PaymentPage) -> str:
    """Return the address where a payer finds the page (interface: `{pay_url}/<slug>`)."""
    return f"{conf.pay_url}/{quote(page.slug, safe='')}"


def slug_key(slug: str) -> str:
    """Return the collation-proof unique key of a slug in this site's mode."""
    return text_key(conf.mode, slug)


def check_slug_text(slug: str) -> str:
    """Return a slug that is safe in a path; raise `PageError` before any call (case C60)."""
    slug = slug.strip()
    if slug in _RESERVED or _SLUG.fullmatch(slug) is None:
        message = _(
            "Use up to 100 Latin letters, digits, hyphens and underscores, with at least one letter."
        )
        raise PageError(message, field="slug")
    return slug


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
    same slug again adopts the page that is there instead of posting a second one (case C53).
    """
    refuse_open_transaction("create_page() was called")
    name = _check_name(name)
    _check_amount(amount)
    slug = check_slug_text(slug) if slug.strip() else _make_slug()
    client = get_client()
    page = PaymentPage.objects.primary().filter(slug_key=slug_key(slug)).first()
    if page is not None and page.remote_id is not None:
        raise PageError(_("You already have a page with this slug."), field="slug")
    if page is not None:
        if (adopted := resume_page(page)) is not None:
            return adopted
    elif not client.check_slug(slug):
        raise PageError(_("This slug is taken. Choose another one."), field="slug")
    save = _save_new if page is None else _save_again
    page = page or PaymentPage(slug=slug, slug_key=slug_key(slug))
    page.name, page.amount, page.description = name, amount, description
    page.custom_fields, page.metadata = list(custom_fields), dict(metadata or {})
    page.redirect_url = _callback_url(page, site_url)
    save(page)
    return follow(page, _post(client, page))


def resume_page(page: PaymentPage) -> PaymentPage | None:
    """Adopt the page at the service that this unfinished row asked for; None if there is none."""
    refuse_open_transaction("resume_page() was called")
    try:
        resource = get_client().fetch_page(page.slug)
    except NotFound:
        return None
    if resource.slug != page.slug:
        raise InvalidResponse("The service answered with another page than the one asked for.")
    return follow(page, resource)


def update_page(
    page: PaymentPage,
    *,
    name: str | None = None,
    amount: int | None = None,
    description: str | None = None,
    active: bool | None = None,
) -> PaymentPage:
    """Change a page at the service, then the mirror. None leaves a field as it is.

    `name` is always sent, for the interface requires it; of the others only what is given
    (case C55). The service has no way to take a fixed amount off a page. When the answer does
    not show what was sent, the page is fetched, and the mirror shows what is there.
    """
    refuse_open_transaction("update_page() was called")
    if page.remote_id is None:
        raise PageError(_("This page is not confirmed by the service yet. Sync it first."))
    client = get_client()
    name = _check_name(page.name if name is None else name)
    _check_amount(amount)
    resource = client.update_page(
        page.remote_id, name=name, amount=amount, description=description, active=active
    )
    sent = {"name": name, "amount": amount, "description": description, "active": active}
    wanted = {key: value for key, value in sent.items() if value is not None}
    if resource.id != page.remote_id or not _shows(resource, wanted):
        resource = client.fetch_page(page.remote_id)
    follow(page, resource)
    if not _shows(resource, wanted):
        raise PageError(_("The service did not take the change. The page is shown as it is there."))
    return page


def set_active(page: PaymentPage, *, active: bool) -> PaymentPage:
    """Switch a page's public address on or off."""
    return update_page(page, active=active)


def follow(page: PaymentPage, resource: PageResource) -> PaymentPage:
    """Make the mirror show what the service answered, and save it.

    Fields that an answer leaves out keep their value: a create's answer echoes neither the
    amount nor the redirect address (interface: Payment page).
    """
    for name, value in mirrored_fields(resource).items():
        setattr(page, name, value)
    page.synced_at, page.missing_since = timezone.now(), None
    page.save()
    return page


def mirrored_fields(resource: PageResource) -> dict[str, Any]:
    """Return the mirror's fields that an answer speaks about, with their values."""
    fields: dict[str, Any] = {
        "remote_id": resource.id,
        "slug": resource.slug,
        "slug_key": slug_key(resource.slug),
    }
    for name in ("name", "description", "domain", "active", "amount", "redirect_url", "metadata"):
        if name in resource.present:
            fields[name] = getattr(resource, name)
    if "currency" in resource.present:
        fields["currency"] = resource.currency.upper()
    if "custom_fields" in resource.present:
        fields["custom_fields"] = list(resource.custom_fields)
    moments = {"created_at": resource.created_at, "updated_at": resource.updated_at}
    return fields | {name: moment for name, moment in moments.items() if moment is not None}


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
            _unconfirmed(page).delete()
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


def _unconfirmed(page: PaymentPage) -> QuerySet[PaymentPage]:
    """Find the row unless somebody who saved at the same moment has had it confirmed."""
    return PaymentPage.objects.primary().filter(pk=page.pk, remote_id__isnull=True)


def _save_again(page: PaymentPage) -> None:
    typed = {name: getattr(page, name) for name in _TYPED}
    if not _unconfirmed(page).update(**typed):
        raise PageError(_("You already have a page with this slug."), field="slug")


def _save_new(page: PaymentPage) -> None:
    try:
        page.save(force_insert=True)
    except IntegrityError as error:
        if PaymentPage.objects.primary().filter(slug_key=page.slug_key).exists():
            raise PageError(_("You already have a page with this slug."), field="slug") from error
        raise


def _check_name(name: str) -> str:
    name = name.strip()
    if not name:
        raise PageError(_("A page needs a name."), field="name")
    if len(name) > MAX_NAME:
        raise PageError(_("This name is too long."), field="name")
    return name


def _check_amount(amount: int | None) -> None:
    """Raise `PageError` before any call for what is not a positive int of minor units."""
    if amount is not None and (type(amount) is not int or not 0 < amount <= INT_MAX):
        raise PageError(_("Enter an amount above zero."), field="amount")


def _make_slug() -> str:
    # A letter first: a slug of digits alone could be taken for a number.
    return secrets.choice(string.ascii_letters) + "".join(
        secrets.choice(_ALPHABET) for _position in range(9)
    )


def _callback_url(page: PaymentPage, site_url: str) -> str:
    origin = conf.site_url or site_url.rstrip("/")
    if not origin:
        raise PageError(_("Set SITE_URL, so that payers can come back to this site."))
    return origin + reverse("payments_pages:page-callback", args=[page.token])


def _shows(resource: PageResource, wanted: Mapping[str, object]) -> bool:
    return all(
        name in resource.present and getattr(resource, name) == value
        for name, value in wanted.items()
    )
