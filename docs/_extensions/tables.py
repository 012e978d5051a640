"""Tables whose cells hold long names or sentences: neither may take the room of the other.

A long name may be broken, a short one never is; a sentence gets a width at which it can be read.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONG = 40
"""Letters of a name that would take too much of a table's width."""

PROSE = 60
"""Letters of a cell that is read as text."""


def mark_cells(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give classes to long names and to cells of prose; `site.css` says how they are shown."""
    for cell in doctree.findall(nodes.entry):
        names = list(cell.findall(nodes.literal))
        for name in names:
            if len(name.astext()) > LONG:
                name["classes"].append("long")
        if len(cell.astext()) - sum(len(name.astext()) for name in names) > PROSE:
            cell["classes"].append("prose")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("doctree-resolved", mark_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
