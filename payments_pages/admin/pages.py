"""Let staff create, change, deactivate and sync pages, through the service first."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.csrf import csrf_protect

from payments_pages.admin.forms import PaymentPageAddForm, PaymentPageChangeForm, explain
from payments_pages.admin.mirrors import ModeFilter, ServiceAdmin, mode_name, moment, money, pretty
from payments_pages.conf import conf
from payments_pages.databases import outside_transactions
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.pages import public_url, set_active
from payments_pages.sync import sync_pages

__all__ = ["PaymentPageAdmin"]


@admin.register(PaymentPage)
class PaymentPageAdmin(ServiceAdmin):
    """Show the mirror; change the service."""

    list_display = ("name", "link", "price", "active", "state", "last_synced")
    list_filter = ("active", "currency", ("domain", ModeFilter))
    search_fields = ("name", "slug")
    ordering = ("-pk",)
    actions = ("deactivate_pages", "activate_pages")
    change_list_template = "admin/payments_pages/paymentpage/change_list.html"
    readonly_fields = (
        "link", "state", "currency", "last_synced", "redirect_url", "questions", "extra"
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def get_fieldsets(self, request: HttpRequest, obj: PaymentPage | None = None) -> Any:
        """Show what can be typed first, what the service says below."""
        if obj is None:
            return (
                (None, {"fields": ("name", "amount", "description", "slug")}),
                (_("What the payer sees and fills in"), {"fields": ("ask_for", "logo")}),
            )
        # Who may only look sees the amount as text, never the raw minor units.
        amount = "amount" if self.has_change_permission(request, obj) else "price"
        return (
            (None, {"fields": ("name", amount, "description", "active")}),
            (
                _("At the service"),
                {"fields": ("link", "state", "currency", "last_synced", "questions", "extra", "redirect_url")},
            ),
        )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: PaymentPage | None = None) -> Any:
        """Show all as text to who may only look."""
        if obj is not None and not self.has_change_permission(request, obj):
            return ("name", "price", "description", "active", *self.readonly_fields)
        return self.readonly_fields

    def get_form(
        self,
        request: HttpRequest,
        obj: PaymentPage | None = None,
        change: bool = False,  # noqa: FBT001, FBT002 - Django's signature
        **kwargs: Any,
    ) -> Any:
        """Return the form for adding or for changing, told where this site is."""
        if change and not self.has_change_permission(request, obj):
            return super().get_form(request, obj, change, **kwargs)
        form = PaymentPageChangeForm if change else PaymentPageAddForm
        site_url = request.build_absolute_uri("/").rstrip("/")

        class RequestForm(form):  # type: ignore[valid-type, misc]  # a class of this request
            def __init__(self, *args: Any, **more: Any) -> None:
                super().__init__(*args, site_url=site_url, **more)

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

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Do nothing: the use case has saved the page already."""

    def get_urls(self) -> list[URLPattern]:
        """Add the sync."""
        sync = self.admin_site.admin_view(self.sync_view)
        name = "payments_pages_paymentpage_sync"
        return [path("sync/", outside_transactions(sync), name=name), *super().get_urls()]

    def has_sync_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may sync."""
        return request.user.has_perm("payments_pages.sync_paymentpage")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the sync button to who may use it."""
        context = {"may_sync": self.has_sync_permission(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def sync_view(self, request: HttpRequest) -> HttpResponse:
        """Mirror all pages, and say what was found."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_sync_permission(request):
            raise PermissionDenied
        try:
            report = sync_pages()
        except PaymentsPagesError as error:
            self.message_user(request, explain(error), messages.ERROR)
        else:
            text = _(
                "Synced: %(added)d added, %(changed)d changed, %(unchanged)d unchanged, "
                "%(missing)d newly missing."
            ) % {
                "added": report.added,
                "changed": report.changed,
                "unchanged": report.unchanged,
                "missing": report.missing,
            }
            self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:payments_pages_paymentpage_changelist"))

    @admin.action(description=gettext_lazy("Deactivate selected pages"), permissions=["change"])
    def deactivate_pages(self, request: HttpRequest, queryset: QuerySet[PaymentPage]) -> None:
        """Take pages off sale at the service."""
        self._switch(request, queryset, active=False)

    @admin.action(description=gettext_lazy("Activate selected pages"), permissions=["change"])
    def activate_pages(self, request: HttpRequest, queryset: QuerySet[PaymentPage]) -> None:
        """Put pages on sale at the service."""
        self._switch(request, queryset, active=True)

    def _switch(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage], *, active: bool
    ) -> None:
        """Switch each page by itself; a page that fails keeps its mirror and is named."""
        done = 0
        for page in queryset:
            try:
                set_active(page, active=active)
            except PaymentsPagesError as error:
                text = f"{page.name}: {explain(error)}"
                self.message_user(request, text, messages.ERROR)
            else:
                self.log_change(request, page, _("Activated.") if active else _("Deactivated."))
                done += 1
        if done:
            text = (
                ngettext("%(count)d page activated.", "%(count)d pages activated.", done)
                if active
                else ngettext("%(count)d page deactivated.", "%(count)d pages deactivated.", done)
            )
            self.message_user(request, text % {"count": done}, messages.SUCCESS)

    @admin.display(description=gettext_lazy("public address"))
    def link(self, page: PaymentPage) -> SafeString:
        """Link to the page as payers see it."""
        url = public_url(page)
        return format_html(
            '<a href="{}" target="_blank" rel="noopener noreferrer" dir="ltr">{}</a>',
            url,
            page.slug,
        )

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def price(self, page: PaymentPage) -> SafeString | str:
        """Show the price, or that the payer chooses."""
        return _("payer chooses") if page.amount is None else money(page.amount, page.currency)

    @admin.display(description=gettext_lazy("last synced"), ordering="synced_at")
    def last_synced(self, page: PaymentPage) -> SafeString:
        """Show when the service last described the page."""
        return moment(page.synced_at)

    @admin.display(description=gettext_lazy("state"))
    def state(self, page: PaymentPage) -> str:
        """Say in words what is odd about the page, if anything."""
        if page.remote_id is None:
            return _("not confirmed by the service")
        if page.missing_since is not None:
            return _("missing at the service")
        if page.domain and page.domain != conf.mode:
            return _("of the other mode")
        return mode_name(page.domain or conf.mode)

    @admin.display(description=gettext_lazy("asks the payer for"))
    def questions(self, page: PaymentPage) -> str:
        """List the labels of the custom fields."""
        labels = (str(item.get("display_name", "")) for item in page.custom_fields or ())
        return ", ".join(filter(None, labels)) or "–"

    @admin.display(description=gettext_lazy("metadata"))
    def extra(self, page: PaymentPage) -> SafeString:
        """Show the page's metadata."""
        return pretty(page.metadata)
