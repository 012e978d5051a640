"""The docstrings of the package, as reStructuredText for autodoc.

They are plain text: names in single backticks, bullets, and blocks of code that are indented.
"""

import inspect
import re
from pathlib import Path
from typing import Any

from public_names import UNCALLED, short_names
from sphinx.application import Sphinx

CODE = re.compile(r"`([^`]+)`(?=(\w?))")
PAGE = re.compile(r"\bdocs/([\w-]+)\.md\b")
BULLET = re.compile(r" *- ")
INDENT = 4
"""Spaces before a line of code; what continues a bullet has fewer."""


def convert(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite one docstring in place."""
    lines[:] = to_restructuredtext(lines, name).splitlines()


def to_restructuredtext(lines: list[str], own_name: str) -> str:
    """Return a docstring's text with its markup spelled out."""
    parts: list[tuple[bool, list[str]]] = []
    for line in lines:
        is_code = line.startswith(" " * INDENT) and not BULLET.match(line)
        after_code = bool(parts) and parts[-1][0]
        before = parts[-1][1][-1] if parts else ""
        if after_code and (is_code or not line.strip()):
            parts[-1][1].append(line)
        elif is_code and not before.strip():
            parts.append((True, [line]))
        elif parts and not after_code:
            parts[-1][1].append(line)
        else:
            parts.append((False, [line]))
    return "\n".join(
        block("\n".join(text)) if is_code else paragraphs(text, own_name) for is_code, text in parts
    )


def block(code: str) -> str:
    """Return lines of code as a block, which ends with a blank line."""
    return f"\n::\n\n{code.rstrip()}\n"


def paragraphs(lines: list[str], own_name: str) -> str:
    """Return text with a blank line before each list, and its names as code or links."""
    spaced: list[str] = []
    in_list = False
    for line in lines:
        bullet = bool(BULLET.match(line))
        if bullet and not in_list and spaced and spaced[-1].strip():
            spaced.append("")
        in_list = bullet or (in_list and bool(line.strip()))
        spaced.append(line)
    known = short_names()
    text, written, end = "\n".join(spaced), "", 0
    for found in CODE.finditer(text):
        written += plain(text[end : found.start()]) + code(found[1], known, own_name)
        written += "\\ " if found[2] else ""
        end = found.end()
    return written + plain(text[end:])


def code(name: str, known: dict[str, str], own_name: str) -> str:
    """Return a name as a link to where it is documented, or as code."""
    bare = name.removesuffix("()")
    target = known.get(bare)
    if target and target != own_name:
        return f":py:obj:`{name} <{target}>`"
    return f"``{' '.join(name.split())}``"


def plain(text: str) -> str:
    """Return text in which nothing is markup but the names of pages, which become links."""
    text = re.sub(r"([\\*|])", r"\\\1", text)
    text = re.sub(r"_(?!\w)", r"\\_", text)
    pages = Path(__file__).resolve().parent.parent
    return PAGE.sub(
        lambda found: f":doc:`{found[1]}`" if (pages / f"{found[1]}.md").exists() else found[0],
        text,
    )


def shorten_signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """Leave out the signature of a class that is not called by its users: Django's own."""
    if inspect.isclass(obj) and issubclass(obj, UNCALLED):
        return "", ""
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", convert)
    app.connect("autodoc-process-signature", shorten_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
