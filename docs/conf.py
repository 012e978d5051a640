"""The configuration of the documentation site: `make docs` builds it, without the network."""

import sys
from pathlib import Path

import django
from django.conf import settings
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]

# Autodoc imports the package: the least settings with which it can be imported.
settings.configure(
    SECRET_KEY="for the documentation",  # noqa: S106 - it protects nothing: no site is run
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "payments_pages",
    ],
    USE_TZ=True,
)
django.setup()

from payments_pages import __version__  # noqa: E402 - Django's settings come first

project = "payments_pages"
author = "The payments_pages authors"
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "direction",
    "docstrings",
    "included_pages",
    "public_names",
    "repository_links",
    "tables",
]
exclude_patterns = ["_build"]
templates_path: list[str] = []
# What is written is what is meant: no curly quotes, no dashes out of options such as `--age`.
smartquotes = False
highlight_language = "default"

myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# A default is shown as its source has it: `EXPONENTS`, not the whole table.
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
# The section says the module.
add_module_names = False
python_use_unqualified_type_names = True
# In the list on the right: the names alone.
toc_object_entries_show_parents = "hide"

nitpicky = True
# Names of Python, Django and others have no page here: no inventory is fetched for a build.
nitpick_ignore_regex = [("py:.*", r"(?!payments_pages\.).*")]
# What public names take or return, and nobody needs to import.
nitpick_ignore = [
    ("py:class", f"payments_pages.{name}")
    for name in (
        "client.resilience.Gates",
        "client.resources.SkippedPage",
        "confirmation.background.SweepReport",
        "limits.Limits",
        "sandbox.state.RecordedRequest",
        "sandbox.webhooks.Delivery",
    )
]

html_theme = "furo"
html_title = f"payments_pages {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


def setup(app: Sphinx) -> None:
    """Show blocks in languages that have no colours here as they are written."""
    for language in ("cron", "mermaid"):
        app.add_lexer(language, TextLexer)
