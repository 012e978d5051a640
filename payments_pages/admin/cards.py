"""The saved cards: what staff may know of them, and how they forget one. The code is never shown."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.models import DELETION
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_user_model
from django.db import router
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from payments_pages.admin import permissions
from payments_pages.admin.filters import ModeFilter
from payments_pages.admin.formats import (
    clamped,
    format_time,
    format_time_in_parts,
    ltr,
    mode_name,
    short_reference,
)
from payments_pages.admin.history import log_entry, removed
from payments_pages.admin.lists import CappedChangeList, Names, Several
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.conf import conf
from payments_pages.marks import clean_pasted
from payments_pages.models import SavedCard, read_owners
from payments_pages.staff import forget_card

__all__ = ["SavedCardAdmin"]

MOST = 100
"""Cards that one action forgets."""
_HIDDEN = ("card_key", "encrypted_code", "owner_key")
"""Columns that no list is filtered by."""


@admin.action(description=gettext_lazy("Forget selected cards…"), permissions=["forget"])
def forget_selected(
    modeladmin: "SavedCardAdmin", request: HttpRequest, queryset: QuerySet[SavedCard]
) -> HttpResponse | None:
    """Delete the cards that staff chose, after a question."""
    cards = list(queryset[: MOST + 1])
    if len(cards) > MOST:
        text = _("Choose at most %(most)s cards at a time. Nothing was done.") % {"most": MOST}
        modeladmin.message_user(request, text, messages.ERROR)
        return None
    _load_owners(cards)
    if "confirmed" not in request.POST:
        return modeladmin.ask(request, cards)
    forgotten = 0
    for card in cards:
        pk = card.pk
        if forget_card(card):
            forgotten += 1
            log_entry(
                request,
                SavedCard,
                removed(gettext_noop("saved card"), _owner_name(card)),
                named=_owner_name(card),
                pk=pk,
                flag=DELETION,
            )
    text = ngettext("%(count)s card is forgotten.", "%(count)s cards are forgotten.", forgotten) % {
        "count": forgotten
    }
    modeladmin.message_user(request, text, messages.SUCCESS if forgotten else messages.INFO)
    return None


class CardChangeList(CappedChangeList):
    """The list of cards, with their owners."""

    def get_results(self, request: HttpRequest) -> None:
        """Read one page of cards, and their owners by one more query."""
        super().get_results(request)
        _load_owners(self.result_list)


@admin.register(SavedCard)
class SavedCardAdmin(ReadOnlyAdmin):
    """The saved cards: brand, last four digits, expiry, owner and first payment."""

    list_display: Several = ("card", "expires", "listed_owner", "paid_first", "listed_saved")
    list_filter: ClassVar[Several] = (("domain", ModeFilter),)
    list_select_related: ClassVar[bool | Names] = ("first_payment",)
    search_fields: ClassVar[Names] = ("owner_key",)  # it only shows the box: see below
    sortable_by: ClassVar[Names | None] = ("listed_saved",)  # what has an index
    ordering: ClassVar[Several | None] = ("-pk",)
    actions: Several = (forget_selected,)
    change_list_template = "admin/payments_pages/savedcard/change_list.html"
    change_form_template = "admin/payments_pages/savedcard/change_form.html"
    fieldsets: ClassVar[Several | None] = (
        (
            None,
            {
                "fields": (
                    "card", "expires", "owned_by", "money_mode", "paid_first", "last_paid",
                    "first_saved", "last_saved",
                )
            },
        ),
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Say whether the admin's index names the cards: not on a site that saves none."""
        used = bool(conf.save_card or conf.get("CARD_KEYS"))
        return used and self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Say whether this person may see cards: not without seeing customers' details."""
        allowed: bool = super().has_view_permission(request, obj)
        return allowed and sees_customers(request)

    def has_forget_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.FORGET_CARDS)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list of cards with their owners."""
        return CardChangeList

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed and lookup.split("__", maxsplit=1)[0] not in _HIDDEN

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Filter by an owner's whole user name. Users may be in another database than cards."""
        term = clean_pasted(search_term)
        if not term:
            return queryset, False
        users = get_user_model()
        rows = users._base_manager.using(router.db_for_read(users))  # noqa: SLF001 - Django documents it
        try:
            found = rows.filter(**{users.USERNAME_FIELD: term})
        except (TypeError, ValueError):  # user names are numbers here, and this is none
            found = rows.none()
        keys = [str(pk) for pk in found.values_list("pk", flat=True)[:1]]
        return queryset.filter(owner_key__in=keys), False

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the button that forgets the card."""
        context["may_forget"] = self.has_forget_permission(request)
        return super().render_change_form(request, context, *args, **kwargs)

    def ask(self, request: HttpRequest, cards: list[SavedCard]) -> HttpResponse:
        """Ask whether these cards are to be forgotten."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("Forget cards"),
            "opts": self.opts,
            "media": self.media,
            "rows": [(card.pk, self.card(card), self.owned_by(card)) for card in cards],
        }
        template = "admin/payments_pages/savedcard/forget.html"
        return TemplateResponse(request, template, context)

    @admin.display(description=gettext_lazy("card"))
    def card(self, card: SavedCard) -> SafeString:
        return ltr(str(card))

    @admin.display(description=gettext_lazy("expires"))
    def expires(self, card: SavedCard) -> SafeString | str:
        return ltr(card.expiry) or "–"

    @admin.display(description=gettext_lazy("owner"))
    def owned_by(self, card: SavedCard) -> SafeString:
        return self._link_to_owner(card, format_html('<bdi dir="auto">{}</bdi>', _owner_name(card)))

    @admin.display(description=gettext_lazy("owner"))
    def listed_owner(self, card: SavedCard) -> SafeString:
        return self._link_to_owner(card, clamped(_owner_name(card)))

    def _link_to_owner(self, card: SavedCard, name: SafeString) -> SafeString:
        """Link to the owner's page, if users are in this admin."""
        options = get_user_model()._meta  # noqa: SLF001 - Django documents it
        page = f"{options.app_label}_{options.model_name}_change"
        url = self.link_to(page, card.owner_key) if card.owner is not None else ""
        return format_html('<a href="{}">{}</a>', url, name) if url else name

    @admin.display(description=gettext_lazy("first payment"))
    def paid_first(self, card: SavedCard) -> SafeString:
        reference = card.first_payment.reference
        url = self.link_to("payments_pages_transaction_change", card.first_payment_id)
        shown = short_reference(reference)
        return format_html('<a href="{}">{}</a>', url, shown) if url else shown

    @admin.display(description=gettext_lazy("last saved"), ordering="saved_at")
    def listed_saved(self, card: SavedCard) -> SafeString:
        return format_time_in_parts(card.saved_at, zone=True)

    @admin.display(description=gettext_lazy("mode"))
    def money_mode(self, card: SavedCard) -> str:
        return mode_name(card.domain)

    @admin.display(description=gettext_lazy("last paid with"))
    def last_paid(self, card: SavedCard) -> SafeString | str:
        return format_time(card.paid_at) or "–"

    @admin.display(description=gettext_lazy("first saved"))
    def first_saved(self, card: SavedCard) -> SafeString:
        return format_time(card.created_at)

    @admin.display(description=gettext_lazy("last saved"))
    def last_saved(self, card: SavedCard) -> SafeString:
        return format_time(card.saved_at)


def _load_owners(cards: Iterable[SavedCard]) -> None:
    """Read the owners of cards by one query."""
    cards = list(cards)
    owners = read_owners(card.owner_key for card in cards)
    for card in cards:
        card.owner = owners.get(card.owner_key)


def _owner_name(card: SavedCard) -> str:
    """Return the owner's user name; the primary key if the owner is gone."""
    return card.owner_key if card.owner is None else str(card.owner.get_username())
