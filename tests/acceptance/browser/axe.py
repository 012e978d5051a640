"""Say what axe finds on a page, in words that can be compared between pages."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.scale import LONG

__all__ = ["findings", "in_all_variants", "violations"]

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RULES_OF_COLOURS = ("color-contrast", "link-in-text-block")
"""All whose result depends on the colour scheme."""
VARIANTS: tuple[tuple[Literal["light", "dark"], int], ...] = (
    ("light", 1280),
    ("light", 390),
    ("dark", 1280),
    ("dark", 390),
)
REGIONS = (".breadcrumbs", "#changelist-filter", "#changelist-search", ".selector", ".datetime")
"""Parts that Django's admin draws by itself, on its own pages and on ours."""

_PLACES = """
([targets, regions]) => targets.map(target => {
    const node = document.querySelector(target);
    return regions.find(region => node && node.closest(region)) || target;
})
"""


def violations(page: Page, rules: Sequence[str] = RULES) -> Any:
    """Return axe's list of violations. `rules` are names, or tags, of axe's rules.

    The page loads axe once: that takes as long as to look at a small page.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    options = {"runOnly": rules, "resultTypes": ["violations"]}
    return page.evaluate("options => axe.run(options).then(it => it.violations)", options)


def findings(page: Page, rules: Sequence[str] = RULES) -> set[str]:
    """Return each violation as `rule in place`: a region of Django's, or else the very element."""
    pairs = [
        (violation["id"], node["target"][0])
        for violation in violations(page, rules)
        for node in violation["nodes"]
    ]
    places = page.evaluate(_PLACES, [[target for _rule, target in pairs], REGIONS])
    return {f"{rule} in {place}" for (rule, _target), place in zip(pairs, places, strict=True)}


def _variants_of(language: str | None) -> Sequence[tuple[Literal["light", "dark"], int]]:
    """Return all four variants without a language or with `TESTS_LONG=1`.

    Colours and widths do not depend on the language: otherwise each of the two has both widths and
    both colours, and together they have all four.
    """
    light, light_narrow, dark, dark_narrow = VARIANTS
    if LONG or language is None:
        return VARIANTS
    return {"en": (light, dark_narrow), "ar": (light_narrow, dark)}[language]


def in_all_variants(page: Page, language: str | None = None) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each variant with what axe finds in it.

    In the dark only rules of colours are asked, without `TESTS_LONG=1`: what the others look at is
    the same in the light, in which both widths are seen.
    """
    for scheme, width in _variants_of(language):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        rules = RULES if LONG or scheme == "light" else RULES_OF_COLOURS
        yield f"{scheme} {width}", findings(page, rules)


def settle(page: Page) -> None:
    """Wait until no colour is on its way from one scheme to the other."""
    page.wait_for_function("document.getAnimations().every(it => it.playState !== 'running')")
