"""The guides for staff in Arabic and Hebrew follow `docs/admin.md` and use the admin's own words.

A page that is missing fails here. What no test can tell is whether the sentences are good ones: each
page asks for a reader whose language it is.
"""

import re
from pathlib import Path

import django
import polib
import pytest

from payments_pages.choices import Reason

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
ENGLISH = (DOCS / "admin.md").read_text()
SCRIPTS = {"ar": "\u0600-\u06ff", "he": "\u0590-\u05ff"}
"""The letters of each language, as a range of a regular expression."""

FRONT = re.compile(r"\A---\n(.*?)\n---\n+", re.DOTALL)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*)\)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)([^)\s]+)\)")
MARKED = re.compile(r"\*\*([^*]+)\*\*|\*([^*]+)\*|“([^”]+)”|«([^»]+)»|\"([^\"]+)\"")
"""A text in emphasis, in bold or in quotation marks."""
PLACE = re.compile(r"%\(\w+\)[sd]|\{\w*\}|\d+")
"""What is filled in: a place of a message, or the figure that a page or picture shows there."""


@pytest.fixture(params=SCRIPTS)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(language: str) -> str:
    return (DOCS / f"staff-{language}.md").read_text()


@pytest.fixture
def catalogue(language: str) -> dict[str, str]:
    return messages(ROOT / "payments_pages", language)


def messages(package: Path, language: str) -> dict[str, str]:
    """Return the translations of a package; those of a plural by the plural's text and form."""
    found = {}
    for entry in polib.pofile(str(package / f"locale/{language}/LC_MESSAGES/django.po")):
        if entry.obsolete:
            continue
        found[entry.msgid] = entry.msgstr
        for form, text in entry.msgstr_plural.items():
            found[f"{entry.msgid_plural} [{form}]"] = text
    return found


def marked(text: str) -> set[str]:
    """Return what stands in emphasis, in bold or in quotes, without code and end punctuation."""
    text = re.sub(r"`[^`]*`", "", PICTURE.sub(r"\n\1\n", text))
    found = (next(filter(None, groups)) for groups in MARKED.findall(FRONT.sub("", text)))
    return {trimmed(text) for text in found}


def trimmed(text: str) -> str:
    return " ".join(text.split()).rstrip("….:, ")


def headings(text: str) -> list[tuple[str, str]]:
    return HEADING.findall(FRONT.sub("", text))


def anchor(heading: str) -> str:
    """Return the name by which GitHub and the site link to a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_the_page_says_its_language_and_direction(page: str, language: str) -> None:
    front = FRONT.match(page)
    assert front
    assert front[1].splitlines() == [f"lang: {language}", "dir: rtl"]


def test_the_page_asks_for_a_native_reader_below_its_heading(page: str, language: str) -> None:
    heading, asks, *_rest = FRONT.sub("", page).split("\n\n")
    assert heading.startswith("# ")
    assert re.match(rf"[{SCRIPTS[language]}]", asks)
    assert asks.endswith("(This translation wants a native reader's check.)")


def test_the_page_has_the_same_headings(page: str, language: str) -> None:
    assert [level for level, _text in headings(page)] == [
        level for level, _text in headings(ENGLISH)
    ]
    assert all(re.search(rf"[{SCRIPTS[language]}]", text) for _level, text in headings(page))


def test_the_page_has_the_same_tables(page: str) -> None:
    def rows(text: str) -> list[int]:
        return [line.count("|") for line in text.splitlines() if line.startswith("|")]

    assert rows(page) == rows(ENGLISH)


def test_the_page_shows_the_same_screens_in_its_language(page: str, language: str) -> None:
    shown = [path for _alt, path in PICTURE.findall(page)]
    assert shown == [
        re.sub(r"-(?:en|ar|he)-(?=(?:light|dark)-\d+\.png$)", f"-{language}-", path)
        for _alt, path in PICTURE.findall(ENGLISH)
    ]
    assert [path for path in shown if not (DOCS / path).is_file()] == []


def test_every_picture_says_what_it_shows_in_the_language_of_the_page(
    page: str, language: str
) -> None:
    alts = [alt for alt, _path in PICTURE.findall(page)]
    assert [alt for alt in alts if len(re.findall(rf"[{SCRIPTS[language]}]+", alt)) < 3] == []


def test_what_the_english_page_quotes_of_the_screens_is_quoted_as_they_say_it(
    page: str, catalogue: dict[str, str]
) -> None:
    messages = {trimmed(message): trimmed(text) for message, text in catalogue.items()}
    quoted = {text: messages[text] for text in marked(ENGLISH) if text in messages}
    assert len(quoted) > 25
    said = marked(page)
    assert {message: text for message, text in quoted.items() if text not in said} == {}


def test_the_page_quotes_nothing_that_no_screen_says(
    page: str, language: str, catalogue: dict[str, str]
) -> None:
    admin = messages(Path(django.__file__).parent / "contrib" / "admin", language)
    texts = [*catalogue.values(), *admin.values()]
    screens = "\n".join(" ".join(PLACE.sub("#", text).split()) for text in texts)

    def said(quoted: str) -> bool:
        # A button may be two messages: the decision, “then the next one”.
        parts = re.split(r"[،,] ", PLACE.sub("#", quoted))
        return all(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", screens) for part in parts)

    assert {quoted for quoted in marked(page) if not said(quoted)} == set()


def test_every_reason_of_a_hold_is_named_as_the_screens_name_it(
    page: str, catalogue: dict[str, str]
) -> None:
    reasons = {str(reason.label) for reason in Reason if str(reason.label) in ENGLISH}
    assert len(reasons) > 8
    text = " ".join(page.split())
    assert {reason for reason in reasons if catalogue[reason] not in text} == set()


def test_the_links_lead_to_files_and_headings(page: str) -> None:
    links = LINK.findall(page)
    assert links
    for link in links:
        path, _sharp, name = link.partition("#")
        assert (DOCS / path).is_file(), link
        if name:
            assert name in {anchor(text) for _level, text in headings((DOCS / path).read_text())}
