"""Nothing on an Arabic screen is in Latin letters but what is data: found by looking, not by catalogue.

So a text is found, too, that nobody marked for translation. Hebrew is left to the test by catalogue:
Django's own Hebrew has gaps.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from example_project.demo.screens import admin_screens
from payments_pages.models import PaymentPage, SavedCard, Transaction, Verification
from payments_pages.sandbox import Sandbox
from tests.acceptance.browser.staff import furnish, sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
]

CODES = re.compile(
    r"""
      \b(ILS|JOD|USD|EET|EEST|QR|CSV|Excel|SVG|PNG|Asia/Hebron)\b
    | \b(admin|demo-[a-z0-9-]+)\b                # who, and references
    | ^(True|False)$                              # Django's own icons
    | ^(Search|Pagination)\b.*                    # Django's own, which it does not translate
    | ^(-\ Select\ an\ option\ -|Run)$
    | https?://\S+
    | \bhttps\b                                   # the name of a protocol
    """,
    re.VERBOSE,
)
SAID = ("reference", "customer_email", "status", "message", "gateway_response", "channel")
"""What the service says of a payment is shown as it comes."""

FILTERED = (
    "success",
    "failed",
    "abandoned",
    "reversed",
    "pending",
    "ongoing",
    "processing",
    "queued",
)
"""The statuses that the list can be narrowed to: the service's words as well."""

VISIBLE = """() => {
    const data = "bdi, [dir=ltr], [dir=auto], pre, code, q, script, style, textarea, .pp-json";
    const parts = [document.title];
    const walker = document.createTreeWalker(document.querySelector("#content"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        if (!parent.closest(data)) parts.push(walker.currentNode.textContent.trim());
    }
    for (const node of document.querySelectorAll("#content *")) {
        for (const name of ["aria-label", "alt", "placeholder", "title"]) {
            if (!node.closest(data)) parts.push(node.getAttribute(name) || "");
        }
        if (node.matches("input[type=submit], input[type=button]")) parts.push(node.value);
    }
    return parts;
}"""


def data() -> list[str]:
    """Return what people and the service wrote, the longest first."""
    texts = set(PaymentPage.objects.values_list("name", flat=True))
    texts |= {text for row in Transaction.objects.values_list(*SAID) for text in row}
    texts |= set(Verification.objects.values_list("reference", flat=True))
    texts |= set(SavedCard.objects.values_list("brand", flat=True))
    texts |= set(FILTERED)
    return sorted(filter(None, texts), key=len, reverse=True)


def latin_words(page: Page, known: list[str]) -> set[str]:
    """Return what is left in Latin letters on a screen, apart from data."""
    found: set[str] = set()
    for part in page.evaluate(VISIBLE):
        text = part
        for written in known:
            text = re.sub(rf"(?<!\w){re.escape(written)}(?!\w)", "", text)
        text = CODES.sub("", text).strip()
        if re.search(r"[A-Za-z]{3}", text):
            found.add(text)
    return found


def test_an_arabic_screen_holds_no_word_of_ours_in_latin_letters(
    shop: str, sandbox: Sandbox, settings: Any, browser: Browser, tmp_path: Path
) -> None:
    furnish(sandbox, settings, tmp_path)
    page = browser.new_page(locale="ar")
    sign_in(page, shop)
    known = data()
    left: dict[str, str] = {}
    for screen in admin_screens():
        page.goto(shop + screen.path)
        for text in latin_words(page, known):
            left.setdefault(text, screen.name)
    lines = [f"{screen}: {text}" for text, screen in left.items()]
    assert not lines, "\n".join(lines)
