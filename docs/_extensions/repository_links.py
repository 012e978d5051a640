"""Links of a page into the repository, which the site does not have.

On a code host `[the floor](../tests/benchmarks/floor/views.py)` opens the file. Here its text stays.
"""

import re
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")
README = re.compile(r"\]\(\.\./README\.md(?:#[^)]*)?\)")


def drop_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leave the text of a link to a file that is no page; README's place is the landing page."""
    source[0] = LINK.sub(r"\1", README.sub("](index.md)", source[0]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("source-read", drop_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
