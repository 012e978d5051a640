"""The tables of the reference pages in docs/ are what the code has."""

import ast
import re
from contextlib import suppress
from typing import Any

from payments_pages import signals
from payments_pages.choices import Outcome
from payments_pages.conf import KEYS, conf
from payments_pages.merchant import MERCHANT_KEYS
from tests.support.options import PAGE, command_names, written
from tests.support.snippets import ROOT, page_text

TEMPLATES = ROOT / "payments_pages" / "templates" / "payments_pages"


def first_cells(page: str, header: str) -> list[list[str]]:
    """Return what is in backticks in the first cell of each row of the table with that header."""
    text = page_text(page)
    assert text.count(f"| {header} |") == 1, header
    rows = text.partition(f"| {header} |")[2].partition("\n\n")[0].splitlines()[2:]
    assert rows
    return [re.findall(r"`([^`]+)`", row.split("|")[1]) for row in rows]


def names(page: str, header: str) -> list[str]:
    return [name for cell in first_cells(page, header) for name in cell]


def test_the_table_of_settings_is_the_code() -> None:
    listed = names("settings.md", "key | default")
    assert len(listed) == len(set(listed))
    assert set(listed) == KEYS


def defaults() -> dict[str, str]:
    """Return what the table of settings says of the default of each key, without backticks."""
    rows = page_text("settings.md").partition("| key | default |")[2].partition("\n\n")[0]
    found = {}
    for row in rows.splitlines()[2:]:
        keys, said = re.findall(r"`([^`]+)`", row.split("|")[1]), row.split("|")[2].strip()
        each = said.split(", ") if len(keys) > 1 and said.count(", ") == len(keys) - 1 else [said]
        for key, one in zip(keys, each * len(keys) if len(each) == 1 else each, strict=True):
            found[key] = one.strip("`")
    return found


def test_the_defaults_in_the_table_are_the_code(settings: Any) -> None:
    """Those that are values; a default in words is for people."""
    only = ("SECRET_KEY", "BASE_URL", "PAY_URL", "HANDLER")
    settings.PAYMENTS_PAGES = {key: settings.PAYMENTS_PAGES[key] for key in only}
    compared = {}
    for key, said in defaults().items():
        owner = conf.limits if hasattr(conf.limits, key.lower()) else conf
        with suppress(ValueError, SyntaxError):
            compared[key] = ast.literal_eval(said)
            value = conf.get("MERCHANT", {}) if key == "MERCHANT" else getattr(owner, key.lower())
            assert value == compared[key], key
    assert len(compared) == 18, sorted(compared)
    assert conf.reference_pattern.pattern == defaults()["REFERENCE_PATTERN"]
    for key in ("NUDGE", "PROXY", "CA_BUNDLE", "SAVE_CARD", "CARD_KEYS", "NOTIFY"):
        assert defaults()[key] == "none"
        assert not getattr(conf, key.lower()), key


def test_the_table_of_the_merchants_words_is_the_code() -> None:
    text = (
        page_text("result-pages.md").partition("\n| key | |\n|---|---|\n")[2].partition("\n\n")[0]
    )
    assert re.findall(r"`([A-Z_]+)`", "\n".join(row.split("|")[1] for row in text.splitlines())) == [
        *MERCHANT_KEYS[:3], "NEXT_URL", "NEXT_LABEL", "LOGO", "COLOUR", "RECEIPT",
    ]  # fmt: skip
    assert len(MERCHANT_KEYS) == 8


def test_the_table_of_commands_is_the_code() -> None:
    listed = [name.split()[0] for name in names("commands.md", "command | does")]
    assert len(listed) == len(set(listed))
    assert sorted(listed) == command_names()


def test_the_options_of_the_commands_are_the_code() -> None:
    """`DJANGO_SETTINGS_MODULE=tests.support.settings python -m tests.support.options` writes them."""
    page = PAGE.read_text()
    assert written(page) == page


def sent() -> dict[str, set[str]]:
    """Return what each signal is sent with, read from the calls in the source."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "payments_pages").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            function = call.func if isinstance(call, ast.Call) else None
            if isinstance(function, ast.Attribute) and function.attr == "send_robust":
                named = {str(word.arg) for word in call.keywords} - {"sender"}
                found.setdefault(ast.unparse(function.value), set()).update(named)
    # `signal` is chosen in the line above its call: one of two with the same argument.
    assert found.pop("signal") == found["fulfilment_held"]
    return {**found, "fulfilment_failed": found["fulfilment_held"]}


def test_the_table_of_signals_is_the_code_and_says_what_each_one_carries() -> None:
    table = page_text("signals.md").partition("| signal |")[2].partition("\n\n")[0]
    listed = {
        re.findall(r"`(\w+)`", name)[0]: set(re.findall(r"`(\w+)`", carried))
        for _begin, name, carried, *_when in (row.split("|") for row in table.splitlines()[2:])
    }
    assert sorted(listed) == sorted(signals.__all__)
    assert listed == sent()


def test_the_table_of_outcomes_is_the_code() -> None:
    assert names("signals.md", "`outcome` | means") == list(Outcome.values)
    text = page_text("signals.md")
    for outcome in Outcome:
        assert f"| `{outcome.value}` | {outcome.label} |" in text


def test_the_table_of_blocks_is_the_template() -> None:
    base = (TEMPLATES / "base.html").read_text()
    assert names("result-pages.md", "block | holds") == re.findall(r"{% block (\w+) %}", base)


def test_the_table_of_pages_is_the_folder_of_templates() -> None:
    parts = {"again.html", "base.html", "onwards.html"}
    rows = page_text("result-pages.md").partition("| page | template |")[2].partition("\n\n")[0]
    shown = re.findall(r"`(\w+\.html)`", rows)
    assert len(shown) == len(set(shown)) == 9
    assert set(shown) == {path.name for path in TEMPLATES.glob("*.html")} - parts
