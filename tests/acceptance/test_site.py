"""The documentation site is built as `make docs` builds it, and its pages are read and opened."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.support.chromium import find_chromium
from tests.unit.test_public_names import PUBLIC

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
OURS = {"PYTHONPATH", "DJANGO_SETTINGS_MODULE", "DATABASE_URL"}
LOADING = {"link", "script", "img", "iframe", "source", "object", "embed", "video", "audio"}

# One process builds, for all of these tests.
pytestmark = pytest.mark.xdist_group("site")

OFFLINE = """
import socket, sys

def refuse(*where, **how):
    raise OSError(f"The build asks for {where}.")

socket.getaddrinfo = socket.socket.connect = refuse
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""
SAMPLE = """---
lang: ar
dir: rtl
orphan: true
---

# دليل

نص فيه `payments_pages_sweep`.

- بند

| العمود | المعنى |
|---|---|
| `held` | موقوف |

## قسم

نص.
"""


class Page(HTMLParser):
    """What a page loads, links to, and can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.attributes.append((tag, given))
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        self.links += [value for value in [given.get("href")] if tag == "a" and value]
        if tag in LOADING:
            addresses = (given.get(name) for name in ("src", "href", "srcset", "data"))
            self.loads += [value for value in addresses if value]


def options(line: str) -> list[str]:
    """The options of Sphinx in the recipe of `make docs`: warnings are errors there."""
    found = re.findall(r" (-W|--keep-going|-n)(?= )", line)
    assert found == ["-W", "--keep-going", "-n"]
    return found


def build(folder: Path, out: str) -> subprocess.CompletedProcess[str]:
    recipe = (ROOT / "Makefile").read_text().split("\ndocs: ")[1].splitlines()[1]
    arguments = [*options(recipe), "-q", "-b", "html", "-d", "doctrees", "docs", out]
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, *arguments],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key not in OURS},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the build reads, with a page from right to left, and the built `html`."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "payments_pages"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    (folder / "docs" / "sample-ar.md").write_text(SAMPLE)
    done = build(folder, "html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def pages(copy: Path) -> dict[str, Page]:
    folder = copy / "html"
    return {
        path.relative_to(folder).as_posix(): Page(path) for path in sorted(folder.rglob("*.html"))
    }


def test_each_page_is_in_the_navigation_once(pages: dict[str, Page]) -> None:
    trees = re.findall(r"```{toctree}\n(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.S)
    entries = re.findall(r"^([\w-]+)$", "\n".join(trees), re.M)
    assert sorted(set(entries) & set(NAMES)) == sorted(set(NAMES) - {"index"})
    assert len(entries) == len(set(entries))
    linked = set(pages["cards.html"].links)
    assert {name for name in NAMES if f"{name}.html" not in linked} == {"cards"}


def test_nothing_comes_from_another_host(copy: Path, pages: dict[str, Page]) -> None:
    foreign = {
        (name, address)
        for name, page in pages.items()
        for address in page.loads
        if urlsplit(address).netloc or urlsplit(address).scheme not in {"", "data"}
    }
    assert foreign == set()
    assert all(page.loads for page in pages.values())
    for sheet in (copy / "html").rglob("*.css"):
        assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text()) == []


def test_each_link_inside_the_site_leads_to_a_page_and_a_place(
    copy: Path, pages: dict[str, Page]
) -> None:
    broken = []
    for name, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or link == "#":
                continue
            target = ((copy / "html" / name).parent / address.path).resolve()
            where = name if not address.path else os.path.relpath(target, copy / "html")
            known = pages.get(where)
            fragment = unquote(address.fragment)
            if known is None:
                broken += [(name, link)] * (not target.is_file())
            elif fragment and fragment not in known.ids:
                broken.append((name, link))
    assert broken == []


def test_each_public_name_has_its_place_in_the_reference(pages: dict[str, Page]) -> None:
    wanted = {f"{module}.{name}" for module, names in PUBLIC.items() for name in names}
    assert wanted - pages["api-reference.html"].ids == set()


def test_docstrings_are_lists_and_code_there_and_no_bare_text(copy: Path) -> None:
    html = (copy / "html" / "api-reference.html").read_text()
    text = re.sub(r"<pre>.*?</pre>", "", html, flags=re.S)
    assert re.findall(r"<p>[^<]*`[^<]*", text) == []
    assert re.findall(r"<p>- ", text) == []
    signals = html.split('id="module-payments_pages.signals"')[1].split("<section")[0]
    assert signals.split("<dt")[0].count("<li>") == len(PUBLIC["payments_pages.signals"])


def test_a_part_of_the_readme_and_the_changelog_are_pages(copy: Path) -> None:
    start = (copy / "html" / "quick-start.html").read_text()
    assert "payments_pages_sandbox" in start
    assert "docs/" not in re.sub(r"<[^>]*>", "", start.split("<article")[1].split("</article")[0])
    versions = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    shown = re.findall(r"<h2>([^<]+)<", (copy / "html" / "changelog.html").read_text())
    assert shown == versions != []


def test_a_page_from_right_to_left_has_its_language_and_direction(pages: dict[str, Page]) -> None:
    turned = {"lang": "ar", "dir": "rtl"}
    divs = [given for tag, given in pages["sample-ar.html"].attributes if tag == "div"]
    assert divs.count(turned) == 2  # the article, and its table of contents
    assert turned not in [given for _tag, given in pages["cards.html"].attributes]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[gone](gone.md)", "myst.xref_missing"),
        ("[gone](cards.md#gone)", "myst.xref_missing"),
        ("![gone](gone.png)", "image"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(copy: Path, text: str, complaint: str) -> None:
    page = copy / "docs" / "broken.md"
    page.write_text(f"---\norphan: true\n---\n\n# Broken\n\n{text}\n")
    try:
        done = build(copy, "html-broken")
    finally:
        page.unlink()
    assert done.returncode == 1
    assert complaint in done.stderr


@pytest.mark.browser
def test_no_page_scrolls_sideways_on_a_phone_or_asks_another_host(copy: Path) -> None:
    names = [path.stem for path in (copy / "html").glob("*.html")]
    assert {*NAMES, "sample-ar", "genindex", "search"} <= set(names)
    asked: set[str] = set()
    sizes = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.on("request", lambda request: asked.add(urlsplit(request.url).scheme))
        for name in names:
            page.goto((copy / "html" / f"{name}.html").as_uri())
            width = "document.documentElement.scrollWidth"
            sizes[name] = page.evaluate(width)
            # A word that is cut off does not scroll, and cannot be read either.
            article = "[...document.querySelectorAll('article, article p, article li')]"
            wide = page.evaluate(f"{article}.filter(e => e.getBoundingClientRect().right > 391"
                                 " && !e.closest('table, pre')).length")  # fmt: skip
            assert (name, wide) == (name, 0)
        browser.close()
    assert {name: size for name, size in sizes.items() if size != 390} == {}
    assert asked <= {"file", "data"}
