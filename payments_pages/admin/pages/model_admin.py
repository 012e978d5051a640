"""Show the mirror of the pages; change the service."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_protect

from payments_pages.admin import permissions
from payments_pages.admin.filters import CurrencyFilter, ModeFilter
from payments_pages.admin.formats import format_time
from payments_pages.admin.pages import formats
from payments_pages.admin.pages.change_form import PaymentPageChangeForm
from payments_pages.admin.pages.currencies import currencies_of
from payments_pages.admin.pages.drift import DriftChoices
from payments_pages.admin.pages.filters import StateFilter
from payments_pages.admin.pages.forms import LOGO, PaymentPageAddForm
from payments_pages.admin.pages.notices import equal_prices, page_notices
from payments_pages.admin.pages.qr import QrCodes, can_draw
from payments_pages.admin.pages.questions import show_questions
from payments_pages.admin.pages.sellers import SellerChoices
from payments_pages.admin.pages.slugs import URL_NAME as SLUG_URL
from payments_pages.admin.pages.slugs import SlugCheck
from payments_pages.admin.pages.sold import PageChangeList, last_days, show_sold, sold_by_page
from payments_pages.admin.pages.sync import SyncSteps
from payments_pages.client import read_metadata
from payments_pages.models import PaymentPage
from payments_pages.pages import describe_differences, public_url

__all__ = ["PaymentPageAdmin"]


@admin.register(PaymentPage)
class PaymentPageAdmin(SyncSteps, SellerChoices, DriftChoices, QrCodes, SlugCheck):
    """List, show, create and change pages."""

    list_display = ("name", "link", "price", "sold", "state", "last_synced")
    list_filter = (StateFilter, ("currency", CurrencyFilter), ("domain", ModeFilter))
    search_fields = ("name", "slug")
    ordering = ("-pk",)
    actions = (
        "deactivate_pages", "activate_pages", "keep_drift", "send_drift_back", "remove_pages",
        "say_sold_here", "say_sold_elsewhere",
    )  # fmt: skip
    change_list_template = "admin/payments_pages/paymentpage/change_list.html"
    change_form_template = "admin/payments_pages/paymentpage/change_form.html"
    add_form_template = "admin/payments_pages/paymentpage/change_form.html"
    readonly_fields = (
        "address", "qr", "state", "sold_in_all", "currency", "last_synced", "redirect", "questions",
        "logo_image", "extra",
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css", "payments_pages/pages.css")}
        js = (forms.Script("payments_pages/copy.js", defer=True),)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Show sums to who may see what they are made of."""
        shown = super().get_list_display(request)
        may_see = request.user.has_perm(permissions.TRANSACTIONS)
        return [column for column in shown if may_see or column != "sold"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PageChangeList]:
        """Return the list that knows what was sold."""
        return PageChangeList

    def get_fieldsets(self, request: HttpRequest, obj: PaymentPage | None = None) -> Any:
        """Show what can be typed first, what the service says below."""
        price = ("amount", "amount_currency") if currencies_of(obj).asked else ("amount",)
        if obj is None:
            return (
                (None, {"fields": ("name", price, "description", "slug")}),
                (_("What the payer sees and fills in"), {"fields": ("ask_for", "logo")}),
            )
        # Who may only look sees the amount as text, never the raw minor units.
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
                        "make a new page."
                    ),
                },
            ),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: PaymentPage | None = None) -> Any:
        """Show all as text to who may only look."""
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
        """Return the form class for this request, which knows this site's addresses.

        A class is the only way in which `ModelAdmin` lets a form have arguments; its own
        `get_form()` builds one for each request, too.
        """
        if change and not self.has_change_permission(request, obj):
            return super().get_form(request, obj, change, **kwargs)
        form = PaymentPageChangeForm if change else PaymentPageAddForm
        site_url, slug_check_url = _site_url(request), self.reverse(SLUG_URL)

        class RequestForm(form):  # type: ignore[valid-type, misc]  # a class of this request
            def __init__(self, *args: Any, **more: Any) -> None:
                super().__init__(*args, site_url=site_url, slug_check_url=slug_check_url, **more)

        return RequestForm

    @method_decorator(csrf_protect)
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show and take the form without Django's transaction around it.

        The form calls the service, and a rollback here could not undo what was done there.
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
        """Add, above the form, what staff should know about the page as it is now."""
        # After a refusal the form has the page anew, as the service described it.
        form = context["adminform"].form
        page = form.instance if obj is not None and hasattr(form, "versions") else obj
        if page is not None:
            may_change = self.has_change_permission(request, page)
            context.update(self.drift_context(page, may_change=may_change))
            context.update(self.seller_context(page, may_change=may_change))
            context["notices"] = page_notices(
                page, site_url=_site_url(request), address=self.change_url
            )
        return super().render_change_form(request, context, add, change, form_url, obj)

    def construct_change_message(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        add: bool = False,
    ) -> Any:
        """Name in the audit trail what was sent, not what a browser sent otherwise."""
        if add:
            return super().construct_change_message(request, form, formsets, add)
        names = [formats.field_label(name) for name in form.sent]
        return [{"changed": {"fields": names}}] if names else []

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Say what the service did otherwise; the use case has saved the page already."""
        for text in filter(None, (form.surprise(), describe_differences(obj))):
            self.message_user(request, text, messages.WARNING)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the sync button to who may use it, and which prices cannot be told apart."""
        context = {
            "may_sync": self.has_sync_permission(request),
            "equal_prices": equal_prices(self.change_url) if request.method == "GET" else [],
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    @admin.display(description=gettext_lazy("link"), ordering="slug")
    def link(self, page: PaymentPage) -> SafeString:
        """Link to the page as payers see it, by its slug."""
        return formats.link(page, page.slug)

    @admin.display(description=gettext_lazy("public address"))
    def address(self, page: PaymentPage) -> SafeString:
        """Link to the page as payers see it, in full."""
        return formats.link(page, public_url(page))

    @admin.display(description=gettext_lazy("QR code"))
    def qr(self, page: PaymentPage) -> SafeString:
        """Show the address as a code, or why there is none."""
        return self.qr_code(page)

    @admin.display(description=gettext_lazy("price"), ordering="amount")
    def price(self, page: PaymentPage) -> SafeString | str:
        """Show the price, or that the payer chooses."""
        return formats.price(page.amount, page.currency)

    @admin.display(description=gettext_lazy("sold in 30 days"))
    def sold(self, page: PaymentPage) -> SafeString:
        """Show what was sold lately, as the list has counted it."""
        since, until = last_days()
        return show_sold(
            page, vars(page).get("sold_lately", ()), self._payments_url(),
            paid_at__gte=since, paid_at__lt=until,
        )  # fmt: skip

    @admin.display(description=gettext_lazy("sold in all"))
    def sold_in_all(self, page: PaymentPage) -> SafeString:
        """Show all that was ever sold."""
        return show_sold(page, sold_by_page([page.pk]).get(page.pk, ()), self._payments_url())

    @admin.display(description=gettext_lazy("state"))
    def state(self, page: PaymentPage) -> SafeString:
        """Show in words whether it is on sale, and what is odd about it."""
        return formats.badges(page)

    @admin.display(description=gettext_lazy("last synced"), ordering="synced_at")
    def last_synced(self, page: PaymentPage) -> SafeString:
        """Show when the service last described the page."""
        return format_time(page.synced_at)

    @admin.display(description=gettext_lazy("redirect address"))
    def redirect(self, page: PaymentPage) -> SafeString:
        """Show where payers go after they paid."""
        return formats.web_address(page.redirect_url)

    @admin.display(description=gettext_lazy("asks the payer for"))
    def questions(self, page: PaymentPage) -> SafeString:
        """Show the custom fields."""
        return show_questions(page.custom_fields)

    @admin.display(description=gettext_lazy("logo"))
    def logo_image(self, page: PaymentPage) -> SafeString:
        """Link to the logo: an image of a third party is not loaded unasked."""
        return formats.web_address(read_metadata(page.metadata).get(LOGO))

    @admin.display(description=gettext_lazy("other metadata"))
    def extra(self, page: PaymentPage) -> SafeString:
        """Show the rest of the page's metadata."""
        return formats.other_metadata(page, LOGO)

    def _payments_url(self) -> str:
        return self.reverse("payments_pages_transaction_changelist")


def _site_url(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")
