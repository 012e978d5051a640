"""The merchant's colour on payers' pages, as a small stylesheet: their policy allows no other style."""

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from payments_pages.conf import conf
from payments_pages.merchant import is_colour
from payments_pages.views.decorators import door

__all__ = ["brand", "brand_css"]

LIGHT_PAPER = (243, 244, 246)
DARK_PAPER = (29, 33, 38)
"""Of the two backgrounds in each scheme of `result.css`, the one on which text is harder to read."""
CONTRAST = 4.5
"""Contrast of text with its background at least (WCAG 2.2, 1.4.3)."""

RGB = tuple[int, int, int]


@door
def brand(request: HttpRequest) -> HttpResponse:
    """Return the stylesheet with the merchant's colour; an empty one without a colour."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    return HttpResponse(brand_css(conf.merchant("COLOUR")), content_type="text/css; charset=utf-8")


def brand_css(colour: object) -> str:
    """Return the rules for a colour as `#0b4f9e`; "" for what is no colour.

    On light ground the colour is made darker, and on dark ground lighter, until text in it can be
    read. Text on a button is black or white, whichever can be read better.
    """
    if not is_colour(colour):
        return ""
    text = str(colour)
    own: RGB = (int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16))
    light = _readable(own, LIGHT_PAPER, (0, 0, 0))
    dark = _readable(own, DARK_PAPER, (255, 255, 255))
    return (
        f"@media screen {{ :root {{ {_rules(light)} }} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_rules(dark)} }} }}\n"
    )


def _rules(colour: RGB) -> str:
    black, white = (0, 0, 0), (255, 255, 255)
    on = max(black, white, key=lambda ink: _contrast(ink, colour))
    return f"--link: {_hex(colour)}; --on-link: {_hex(on)};"


def _readable(colour: RGB, paper: RGB, towards: RGB) -> RGB:
    """Mix a colour with black or white, in steps of a twentieth, until it can be read on paper."""
    found = colour
    for step in range(21):
        found = _mix(colour, towards, step)
        if _contrast(found, paper) >= CONTRAST:
            break
    return found


def _mix(colour: RGB, towards: RGB, twentieths: int) -> RGB:
    red, green, blue = (
        (own * (20 - twentieths) + other * twentieths) // 20
        for own, other in zip(colour, towards, strict=True)
    )
    return red, green, blue


def _contrast(one: RGB, other: RGB) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: RGB) -> float:
    """Return the relative luminance of WCAG 2."""
    red, green, blue = (_linear(channel / 255) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _hex(colour: RGB) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in colour)
