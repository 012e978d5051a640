"""Show a page's address as a QR code, where the extra `[qr]` (segno) is installed."""

import io
from importlib.util import find_spec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.readonly import PagesPart
from payments_pages.db import outside_transactions
from payments_pages.models import PaymentPage
from payments_pages.pages import public_url

__all__ = ["QrCodes", "can_draw", "code"]

URL_NAME = "payments_pages_paymentpage_qr"
LIBRARY = "segno"
TYPES = {"svg": "image/svg+xml", "png": "image/png"}
# A quiet zone of four modules, as the standard asks. 20 dots for each module: a code of 41
# modules is 7 cm wide at 300 dots per inch.
QUIET, DOTS, PER_INCH = 4, 20, 300


def can_draw() -> bool:
    """Tell whether the library that draws is installed."""
    return find_spec(LIBRARY) is not None


def code(text: str, kind: str) -> bytes:
    """Draw a text as a QR code: black on white, in whatever theme; `kind` is "svg" or "png"."""
    import segno  # noqa: PLC0415 - optional: the extra [qr]

    out = io.BytesIO()
    drawn = segno.make(text, error="m", micro=False)
    if kind == "svg":
        drawn.save(out, kind="svg", border=QUIET, scale=4, dark="#000", light="#fff")
    else:
        drawn.save(
            out, kind="png", border=QUIET, scale=DOTS, dpi=PER_INCH, dark="#000", light="#fff"
        )
    return out.getvalue()


class QrCodes(PagesPart):
    """Draw codes for pages that can be paid on, and say why not for the others."""

    def get_urls(self) -> list[URLPattern]:
        """Add the images."""
        view = outside_transactions(self.admin_site.admin_view(self.qr_view))
        return [path("<int:pk>/qr.<str:kind>", view, name=URL_NAME), *super().get_urls()]

    def qr_view(self, request: HttpRequest, pk: int, kind: str) -> HttpResponse:
        """Answer the image; `?download` makes a file of it. 404 for what must not be printed."""
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        page = PaymentPage.objects.filter(pk=pk).first()
        if not self.has_view_permission(request, page):
            raise PermissionDenied
        download = "download" in request.GET
        if page is None or kind not in TYPES or not can_draw() or why_not(page):
            raise Http404
        if page.domain == "test" and (download or kind == "png"):
            raise Http404
        response = HttpResponse(code(public_url(page), kind), content_type=TYPES[kind])
        response["X-Content-Type-Options"] = "nosniff"
        if download:
            response["Content-Disposition"] = f'attachment; filename="qr-{page.pk}.{kind}"'
        return response

    def qr_code(self, page: PaymentPage) -> SafeString:
        """Show the code with its downloads; in its place, why there is none."""
        if reason := why_not(page):
            return format_html('<span class="pp-warning">{}</span>', reason)
        image = format_html(
            '<img class="pp-qr" src="{}" alt="{}" width="180" height="180" loading="lazy">',
            self._address(page, "svg"),
            _("QR code of the public address of %(name)s") % {"name": page.name},
        )
        if page.domain == "test":
            return format_html(
                '<span class="pp-warning">{}</span><details class="pp-details"><summary>{}</summary>'
                "{}</details>",
                _("This is a test page: nobody can pay real money on it. Print no code of it."),
                _("Show it all the same, to try the page on a phone"),
                image,
            )
        return format_html(
            '{image}<span class="pp-downloads"><a href="{svg}?download">{svg_text}</a> '
            '<a href="{png}?download">{png_text}</a></span>',
            image=image,
            svg=self._address(page, "svg"),
            png=self._address(page, "png"),
            svg_text=_("Download as SVG"),
            png_text=_("Download as PNG for print"),
        )

    def _address(self, page: PaymentPage, kind: str) -> str:
        return self.reverse(URL_NAME, page.pk, kind)


def why_not(page: PaymentPage) -> str:
    """Return why a code of the page would mislead whoever scans it; blank if it would not."""
    if page.remote_id is None:
        return _("No QR code: the service has not confirmed this page.")
    if page.missing_since is not None:
        return _("No QR code: the service does not have this page any more.")
    if not page.active:
        return _("No QR code: nobody can pay on an inactive page.")
    return ""
