"""A page's public URL as a QR code, if the extra `[qr]` (segno) is installed."""

import io
from importlib.util import find_spec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from payments_pages.admin.readonly import PagesAdminMixin
from payments_pages.db import outside_transactions
from payments_pages.models import PaymentPage
from payments_pages.pages import public_url

__all__ = ["QrCodeAdminMixin", "can_draw", "draw_code"]

URL_NAME = "payments_pages_paymentpage_qr"
LIBRARY = "segno"
TYPES = {"svg": "image/svg+xml", "png": "image/png"}
QUIET_ZONE = 4
"""The modules (squares) of the white border, as the standard requires."""
SCALE = 4
"""Pixels of a module in an SVG, which a printer may make as big as it likes."""
NOTE_HEIGHT = 28
DOTS_PER_MODULE, DOTS_PER_INCH = 20, 300
"""The size of a PNG for print: a code of 41 modules is 7 cm wide."""


def can_draw() -> bool:
    """Return whether the library that draws codes is installed."""
    return find_spec(LIBRARY) is not None


def draw_code(text: str, kind: str, note: str = "") -> bytes:
    """Return an image of a text as a QR code, black on white; `kind` is "svg" or "png".

    `note`: a line below the code, in an SVG only.
    """
    import segno  # noqa: PLC0415 - optional: the extra [qr]

    out = io.BytesIO()
    code = segno.make(text, error="m", micro=False)
    if kind == "svg":
        code.save(out, kind="svg", border=QUIET_ZONE, scale=SCALE, dark="#000", light="#fff")
        if note:
            size = int(code.symbol_size(scale=SCALE, border=QUIET_ZONE)[0])
            return _with_note(out.getvalue(), size, note)
    else:
        code.save(
            out,
            kind="png",
            border=QUIET_ZONE,
            scale=DOTS_PER_MODULE,
            dpi=DOTS_PER_INCH,
            dark="#000",
            light="#fff",
        )
    return out.getvalue()


def _with_note(code: bytes, size: int, note: str) -> bytes:
    """Return an SVG with a line of text below the code, on white as well."""
    drawing = code.decode().partition("?>")[2]
    shown = format_html(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{height}" '
        'viewBox="0 0 {size} {height}"><path fill="#fff" d="M0 0h{size}v{height}h-{size}z"/>{code}'
        '<text x="{middle}" y="{base}" fill="#000" font-family="sans-serif" font-size="14" '
        'font-weight="bold" text-anchor="middle" textLength="{width}" '
        'lengthAdjust="spacingAndGlyphs">{note}</text></svg>',
        size=str(size),
        height=str(size + NOTE_HEIGHT),
        code=mark_safe(drawing.strip()),  # noqa: S308 - the library's own drawing
        middle=str(size // 2),
        base=str(size + NOTE_HEIGHT // 2),
        width=str(size - 2 * QUIET_ZONE * SCALE),
        note=note,
    )
    return shown.encode()


class QrCodeAdminMixin(PagesAdminMixin):
    """The QR codes of pages that payers can pay on, and the reason if there is no code."""

    def get_urls(self) -> list[URLPattern]:
        view = outside_transactions(self.admin_site.admin_view(self.qr_view))
        return [path("<int:pk>/qr.<str:kind>", view, name=URL_NAME), *super().get_urls()]

    def qr_view(self, request: HttpRequest, pk: int, kind: str) -> HttpResponse:
        """Return the image; with `?download`, as a file.

        The response is 404 if nobody can pay on the page, and for a PNG of a test page: that is for
        print. The SVG of a test page says in words what it is.
        """
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        page = PaymentPage.objects.filter(pk=pk).first()
        if not self.has_view_permission(request, page):
            raise PermissionDenied
        download = "download" in request.GET
        if page is None or kind not in TYPES or not can_draw() or no_code_reason(page):
            raise Http404
        is_test = page.domain == "test"
        if is_test and kind == "png":
            raise Http404
        note = _("TEST: no real money") if is_test else ""
        image = draw_code(public_url(page), kind, note)
        response = HttpResponse(image, content_type=TYPES[kind])
        response["X-Content-Type-Options"] = "nosniff"
        if download:
            name = f"qr-test-{page.pk}" if is_test else f"qr-{page.pk}"
            response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
        return response

    def qr_code(self, page: PaymentPage) -> SafeString:
        """Return the code with its download links, or the reason why there is none."""
        if reason := no_code_reason(page):
            return format_html('<span class="pp-warning">{}</span>', reason)
        image = format_html(
            '<img class="pp-qr" src="{}" alt="{}" width="180" height="180" loading="lazy">',
            self._image_url(page, "svg"),
            _("QR code of the public address of %(name)s") % {"name": page.name},
        )
        if page.domain == "test":
            return format_html(
                '<span class="pp-warning">{}</span><details class="pp-details"><summary>{}</summary>'
                '{}<span class="pp-downloads"><a href="{}?download">{}</a></span></details>',
                _("This is a test page: nobody can pay real money on it. Print no code of it."),
                _("Show it all the same, to try the page on a phone"),
                image,
                self._image_url(page, "svg"),
                _("Download as SVG"),
            )
        return format_html(
            '{image}<span class="pp-downloads"><a href="{svg}?download">{svg_text}</a> '
            '<a href="{png}?download">{png_text}</a></span>',
            image=image,
            svg=self._image_url(page, "svg"),
            png=self._image_url(page, "png"),
            svg_text=_("Download as SVG"),
            png_text=_("Download as PNG for print"),
        )

    def qr_link(self, page: PaymentPage) -> SafeString:
        """Return a short link that downloads the SVG; "" if there is no code to be had."""
        if not can_draw() or no_code_reason(page):
            return SafeString("")
        words = (
            _("QR code of the test page %(name)s")
            if page.domain == "test"
            else _("QR code of %(name)s")
        )
        return format_html(
            '<a class="pp-qr-link" href="{}?download" title="{title}" aria-label="{label}">{}</a>',
            self._image_url(page, "svg"),
            _("QR (test)") if page.domain == "test" else _("QR"),
            title=_("Download as SVG"),
            label=f"{words % {'name': page.name}}: {_('Download as SVG')}",
        )

    def _image_url(self, page: PaymentPage, kind: str) -> str:
        return self.reverse(URL_NAME, page.pk, kind)


def no_code_reason(page: PaymentPage) -> str:
    """Return why the page has no code: nobody can pay on it; "" if it has one."""
    if page.remote_id is None:
        return _("No QR code: the service has not confirmed this page.")
    if page.missing_since is not None:
        return _("No QR code: the service does not have this page any more.")
    if not page.active:
        return _("No QR code: nobody can pay on an inactive page.")
    return ""
