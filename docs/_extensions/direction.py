"""Pages in a language that is written from right to left.

A page says so in its front matter, and the rest of the site stays as it is:

    ---
    lang: ar
    dir: rtl
    ---
"""

from html import escape
from typing import Any

from sphinx.application import Sphinx


def turn_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the article of a page, and its table of contents, the page's language and direction."""
    meta = context.get("meta") or {}
    attributes = "".join(
        f' {name}="{escape(meta[name])}"' for name in ("lang", "dir") if meta.get(name)
    )
    if attributes:
        for part in ("body", "toc"):
            context[part] = f"<div{attributes}>{context[part]}</div>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("html-page-context", turn_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
