"""The admin of pages: it shows the mirror, and changes pages at the service."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import translation
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_protect

from payments_pages.admin import permissions
from payments_pages.admin.filters import CurrencyFilter, ModeFilter
from payments_pages.admin.formats import format_time
from payments_pages.admin.lists import Names, Several
from payments_pages.admin.pages import formats
from payments_pages.admin.pages.add_form import PaymentPageAddForm
from payments_pages.admin.pages.change_form import PaymentPageChangeForm
from payments_pages.admin.pages.copies import copy_notices, filled_in
from payments_pages.admin.pages.currencies import currencies_of
from payments_pages.admin.pages.drift import DriftAdminMixin
from payments_pages.admin.pages.filters import StateFilter
from payments_pages.admin.pages.logos import LOGO, show_logo
from payments_pages.admin.pages.notices import equal_prices, page_notices
from payments_pages.admin.pages.qr import QrCodeAdminMixin, can_draw
from payments_pages.admin.pages.questions import show_questions
from payments_pages.admin.pages.sellers import SellerAdminMixin
from payments_pages.admin.pages.slugs import URL_NAME as SLUG_URL
from payments_pages.admin.pages.slugs import SlugCheckAdminMixin
from payments_pages.admin.pages.sold import PageChangeList, show_sold, sold_by_page
from payments_pages.admin.pages.sync import SyncAdminMixin
from payments_pages.ids import parse_id
from payments_pages.marks import clean_pasted
from payments_pages.models import PaymentPage
from payments_pages.pages import describe_differences, make_slug, public_url

__all__ = ["PaymentPageAdmin"]

LIKE = "like"
"""The parameter of the form's URL that names the page which a new one is to be like."""


@admin.register(PaymentPage)
class PaymentPageAdmin(
    SyncAdminMixin, SellerAdminMixin, DriftAdminMixin, QrCodeAdminMixin, SlugCheckAdminMixin
):
    """The list of pages, the form that creates one, and the form that changes one."""

    list_display: Several = ("name", "link", "price", "sold", "state", "last_synced")
    list_filter: ClassVar[Several] = (
        StateFilter,
        ("currency", CurrencyFilter),
        ("domain", ModeFilter),
    )
    search_fields: ClassVar[Names] = ("name", "slug")
    ordering: ClassVar[Several | None] = ("-pk",)
    actions: Several = (
        "deactivate_pages", "activate_pages", "keep_drift", "send_drift_back", "remove_pages",
        "say_sold_here", "say_sold_elsewhere",
    )  # fmt: skip
    change_list_template = "admin/payments_pages/paymentpage/change_list.html"
    change_form_template = "admin/payments_pages/paymentpage/change_form.html"
    add_form_template = "admin/payments_pages/paymentpage/change_form.html"
    readonly_fields: ClassVar[Names] = (
        "address", "qr", "state", "sold_in_all", "currency", "last_synced", "redirect", "questions",
        "logo_image", "extra",
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css", "payments_pages/pages.css")}
        js = (forms.Script("payments_pages/copy.js", defer=True),)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Leave out the sums for a user who may not see payments."""
        shown = super().get_list_display(request)
        may_see = request.user.has_perm(permissions.TRANSACTIONS)
        return [column for column in shown if may_see or column != "sold"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Suggest a slug, which is the form's key as well; fill in a page like another one."""
        original = self.original(request)
        filled = {"slug": make_slug()} if original is None else filled_in(original)
        return {**filled, **super().get_changeform_initial_data(request)}

    def original(self, request: HttpRequest) -> PaymentPage | None:
        """Return the page that a new one is to be like: the parameter `like` of the form's URL."""
        pk = parse_id(request.GET.get(LIKE, ""))
        page = PaymentPage.objects.filter(pk=pk).first() if pk is not None else None
        return page if page is not None and self.has_view_permission(request, page) else None

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PageChangeList]:
        return PageChangeList

    def get_fieldsets(self, request: HttpRequest, obj: PaymentPage | None = None) -> Any:
        """Return the editable fields first, and the service's values below."""
        price = ("amount", "amount_currency") if currencies_of(obj).asked else ("amount",)
        if obj is None:
            return (
                (None, {"fields": ("name", price, "description", "slug")}),
                (_("What the payer sees and fills in"), {"fields": ("ask_for", "logo")}),
            )
        # A user who may not change the page sees a formatted price instead of minor units.
        amount = price if self.has_change_permission(request, obj) else "price"
        drawn = ("qr",) if can_draw() else ()
        sold = ("sold_in_all",) if request.user.has_perm(permissions.TRANSACTIONS) else ()
        return (
            (None, {"fields": ("name", amount, "description", "active")}),
            (_("For payers"), {"fields": ("address", *drawn)}),
            (
                _("At the service"),
                {"fields": ("state", *sold, "currency", "last_synced", "redirect")},
            ),
            (
                _("What the payer sees and fills in"),
                {
                    "fields": ("questions", "logo_image", "extra"),
                    "description": _(
                        "The service lets nobody change these after a page is made. For others, "
                        "make a new page like this one."
                    ),
                },
            ),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: PaymentPage | None = None) -> Any:
        if obj is not None and not self.has_change_permission(request, obj):
            return ("name", "price", "description", "active", *self.readonly_fields)
        return self.readonly_fields

    def get_form(
        self,
        request: HttpRequest,
        obj: PaymentPage | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return a form class of this request, which gets the URLs of this site.

        `ModelAdmin` passes no arguments to a form, so a class has to. Django's own `get_form()`
        builds a class for each request, too.
        """
        if change and not self.has_change_permission(request, obj):
            return super().get_form(request, obj, change, **kwargs)
        form = PaymentPageChangeForm if change else PaymentPageAddForm
        given: dict[str, Any] = {
            "site_url": _site_url(request),
            "slug_check_url": self.reverse(SLUG_URL),
        }
        if not change:
            given["original"] = self.original(request)

        class RequestForm(form):  # type: ignore[valid-type, misc]  # a class of this request
            def __init__(self, *args: Any, **more: Any) -> None:
                super().__init__(*args, **given, **more)

        return RequestForm

    @method_decorator(csrf_protect)
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Run Django's view without its transaction.

        The form calls the service, and a rollback cannot undo a change at the service.
        """
        return self._changeform_view(request, object_id, form_url, extra_context)  # type: ignore[attr-defined, no-any-return]  # Django's own body of this view

    def render_change_form(  # noqa: PLR0917 - Django's signature
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: PaymentPage | None = None,
    ) -> HttpResponse:
        """Add the notices, the buttons and the drift above the form."""
        form = context["adminform"].form
        if (repeated := getattr(form, "repeated", None)) is not None:
            return self._tell_repeated(request, repeated)
        # After an error the form has a newer row, with the service's values.
        page = form.instance if obj is not None and hasattr(form, "versions") else obj
        if page is not None:
            may_change = self.has_change_permission(request, page)
            context.update(self.drift_context(page, may_change=may_change))
            context.update(self.seller_context(page, may_change=may_change))
            context["notices"] = page_notices(
                page, site_url=_site_url(request), page_url=self.change_url
            )
            if self.has_add_permission(request):
                add_url = self.reverse("payments_pages_paymentpage_add")
                context["like_url"] = f"{add_url}?{urlencode({LIKE: page.pk})}"
        elif (original := self.original(request)) is not None:
            context["notices"] = list(copy_notices(original))
        return super().render_change_form(request, context, add, change, form_url, obj)

    def response_add(
        self, request: HttpRequest, obj: PaymentPage, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Say the new page's price and address, too: its currency was not known before."""
        response = super().response_add(request, obj, post_url_continue)
        if IS_POPUP_VAR not in request.POST:
            self.message_user(request, formats.what_payers_see(obj), messages.INFO)
        return response

    def _tell_repeated(self, request: HttpRequest, page: PaymentPage) -> HttpResponse:
        """Say that the page has been made already, and go on as after its first creation."""
        if IS_POPUP_VAR in request.POST:
            return self.response_add(request, page)
        link = format_html('<a href="{}">{}</a>', self.change_url(page), page.name)
        text = _("This form was sent twice. The page “{}” is made already; no second one was made.")
        self.message_user(request, format_html(text, link), messages.INFO)
        if "_continue" in request.POST:
            return HttpResponseRedirect(self.change_url(page))
        if "_addanother" in request.POST:
            return HttpResponseRedirect(request.get_full_path())
        return HttpResponseRedirect(self.list_url())

    def construct_change_message(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        add: bool = False,
    ) -> Any:
        """Name in the history only the fields that were sent to the service."""
        if add:
            return super().construct_change_message(request, form, formsets, add)
        with translation.override(None):  # Django translates the names when they are read.
            names = [formats.field_label(name) for name in form.sent]
        return [{"changed": {"fields": names}}] if names else []

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Warn about values that the service changed; the form has saved the page already."""
        for text in filter(None, (form.currency_warning(), describe_differences(obj))):
            self.message_user(request, text, messages.WARNING)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Add the sync button if the user may sync, and the pages with equal prices."""
        context = {
            "may_sync": self.has_sync_permission(request),
            "equal_prices": equal_prices(self.change_url) if request.method == "GET" else [],
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Search for what was typed, and for the same without marks that do not show."""
        pasted = clean_pasted(search_term)
        found, repeated = super().get_search_results(request, queryset, pasted)
        if pasted in {"", search_term}:
            return found, repeated
        # A name may contain such a mark itself, so both are searched for.
        as_typed, _repeated = super().get_search_results(request, queryset, search_term)
        return found | as_typed, repeated

    @admin.display(description=gettext_lazy("link"), ordering="slug")
    def link(self, page: PaymentPage) -> SafeString:
        """Return the public address, its QR code if there is one to print, and a button to copy it."""
        return format_html("{} {}", formats.link(page, page.slug), self.qr_link(page))

    @admin.display(description=gettext_lazy("public address"))
    def address(self, page: PaymentPage) -> SafeString:
        return formats.link(page, public_url(page))

    @admin.display(description=gettext_lazy("QR code"))
    def qr(self, page: PaymentPage) -> SafeString:
        return self.qr_code(page)

    @admin.display(description=gettext_lazy("price"), ordering="amount")
    def price(self, page: PaymentPage) -> SafeString | str:
        return formats.price(page.amount, page.currency)

    def sold(self, page: PaymentPage) -> SafeString:
        """Return no sums: `PageChangeList` puts a column with the sums in place of this one."""
        return SafeString("–")

    @admin.display(description=gettext_lazy("sold in all"))
    def sold_in_all(self, page: PaymentPage) -> SafeString:
        return show_sold(page, sold_by_page([page.pk]).get(page.pk, ()), self._payments_url())

    @admin.display(description=gettext_lazy("state"))
    def state(self, page: PaymentPage) -> SafeString:
        return formats.badges(page)

    @admin.display(description=gettext_lazy("last synced"), ordering="synced_at")
    def last_synced(self, page: PaymentPage) -> SafeString:
        return format_time(page.synced_at)

    @admin.display(description=gettext_lazy("redirect address"))
    def redirect(self, page: PaymentPage) -> SafeString:
        return formats.address(page.redirect_url)

    @admin.display(description=gettext_lazy("asks the payer for"))
    def questions(self, page: PaymentPage) -> SafeString:
        return show_questions(page.custom_fields)

    @admin.display(description=gettext_lazy("logo"))
    def logo_image(self, page: PaymentPage) -> SafeString:
        return show_logo(page)

    @admin.display(description=gettext_lazy("other metadata"))
    def extra(self, page: PaymentPage) -> SafeString:
        return formats.other_metadata(page, LOGO)

    def _payments_url(self) -> str:
        return self.link_to("payments_pages_transaction_changelist")


def _site_url(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")
