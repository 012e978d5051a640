"""Take pictures of every screen of the demo, so that those in the docs stay true.

    .venv/bin/python tests/acceptance/screenshots.py          the chosen ones, into docs/screenshots/
    .venv/bin/python tests/acceptance/screenshots.py --all    all of them, into var/screenshots/

Starts the demo with its history on two ports of its own, in a database of its own, and stops it.
Needs Chromium on the PATH, and the `dev` extra. `--only TEXT` takes, of either, those whose name
has the text.
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import django
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

if TYPE_CHECKING:
    from tests.acceptance.browser.acts import Shot

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS, EVERYTHING = ROOT / "docs" / "screenshots", ROOT / "var" / "screenshots"
sys.path.insert(0, str(ROOT))

LANGUAGES = ("en", "ar", "he")
SCHEMES = ("light", "dark")
HEIGHTS = {1280: 800, 390: 780}
"""Of the window, by its width."""
LONGEST, LONGEST_IN_DOCS = 2400, 1000
"""Pixels after which the picture of a long page ends."""
COLOURS = 64
SITE_PORT, SANDBOX_PORT = 8020, 8021
"""Fixed, for addresses are in the pictures."""
CHOSEN = frozenset(
    {
        "action-approve-ar-light-1280",
        "action-approve-en-light-1280",
        "action-approve-he-light-1280",
        "action-attribute-ar-light-1280",
        "action-attribute-en-light-1280",
        "action-attribute-he-light-1280",
        "deactivate-ar-light-1280",
        "deactivate-en-light-1280",
        "deactivate-he-light-1280",
        "index-ar-light-1280",
        "index-en-light-1280",
        "index-he-light-1280",
        "page-add-ar-light-1280",
        "page-add-he-light-1280",
        "page-drift-ar-light-1280",
        "page-drift-en-light-1280",
        "page-drift-he-light-1280",
        "page-stale-ar-light-1280",
        "page-stale-en-light-1280",
        "page-stale-he-light-1280",
        "pages-ar-light-1280",
        "pages-en-light-1280",
        "pages-he-light-1280",
        "payment-delivered-ar-dark-1280",
        "payment-delivered-he-dark-1280",
        "payment-failed-ar-light-1280",
        "payment-failed-en-light-1280",
        "payment-failed-he-light-1280",
        "payment-held-ar-light-1280",
        "payment-held-ar-light-390",
        "payment-held-en-light-1280",
        "payment-held-he-light-1280",
        "payment-held-he-light-390",
        "payments-ar-dark-1280",
        "payments-ar-light-1280",
        "payments-en-light-1280",
        "payments-he-dark-1280",
        "payments-he-light-1280",
        "references-ar-light-1280",
        "references-en-light-1280",
        "references-he-light-1280",
        "result-checking-ar-light-390",
        "result-checking-he-light-390",
        "result-not-paid-ar-dark-390",
        "result-not-paid-he-dark-390",
        "result-paid-ar-light-390",
        "result-paid-en-light-390",
        "result-paid-he-light-390",
        "sync-ar-light-1280",
        "sync-en-light-1280",
        "sync-he-light-1280",
        "verified-by-hand-ar-light-1280",
        "verified-by-hand-en-light-1280",
        "verified-by-hand-he-light-1280",
    }
)
"""What the docs show: screen, language, scheme, width."""
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Album(NamedTuple):
    """Say where pictures go, which are wanted, and how long they may be."""

    folder: Path
    wanted: Callable[[str], bool]
    longest: int


class Place(NamedTuple):
    """Be a running shop: its address, somebody who may sign in, and what to take there."""

    origin: str
    login: str
    password: str
    shots: "list[Shot]"


def main() -> None:
    """Start the demo, take the pictures, stop the demo."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every screen, into var/screenshots/")
    parser.add_argument("--only", default="", help="those whose name has this text")
    options = parser.parse_args()
    if options.all:
        album = Album(EVERYTHING, lambda name: options.only in name, LONGEST)
    else:
        album = Album(DOCS, lambda name: options.only in name and name in CHOSEN, LONGEST_IN_DOCS)

    from tests.support.chromium import find_chromium

    chromium = find_chromium()
    if chromium is None:
        sys.exit("There is no Chromium on the PATH (Debian: chromium).")
    with tempfile.TemporaryDirectory(prefix="screenshots-") as directory:
        configure(Path(directory))
        with shop(Path(directory)) as place, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
            taken = sum(take(browser, place, language, album) for language in LANGUAGES)
            browser.close()
    print(f"{taken} pictures in {album.folder}")


def configure(directory: Path) -> None:
    """Read the settings as those of a demo whose files are in `directory`."""
    # Not before here: the settings are read from the environment, once.
    from example_project.demo.addresses import Addresses, sqlite_url

    addresses = Addresses(site_port=SITE_PORT, sandbox_port=SANDBOX_PORT)
    os.environ |= addresses.environment(sqlite_url(directory / "shop.sqlite3"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
    django.setup()


@contextlib.contextmanager
def shop(directory: Path) -> Iterator[Place]:
    """Run a shop that has its history."""
    from django.db import connections

    from example_project.demo.addresses import Addresses
    from example_project.demo.control import Control
    from example_project.demo.logins import ADMIN, reset_login
    from example_project.demo.parts import Parts
    from example_project.demo.running import furnish, start_site
    from example_project.demo.screens import admin_screens, payer_screens
    from example_project.demo.storage import Storage
    from tests.acceptance.browser.acts import Acts, Shot, opened

    addresses = Addresses(site_port=SITE_PORT, sandbox_port=SANDBOX_PORT)
    storage = Storage(directory)
    with Parts(environment={}, logs=storage.logs) as parts:
        furnish(parts, addresses, storage, print, fresh=False, history=True)
        login = reset_login(ADMIN)
        screens = [*admin_screens(), *payer_screens()]
        connections.close_all()
        start_site(parts, addresses)
        shots = [Shot(screen.name, opened(addresses.site + screen.path)) for screen in screens]
        shots += Acts(addresses.site, Control(addresses.control), screens).shots()
        yield Place(addresses.site, *login, shots)


def take(browser: Browser, place: Place, language: str, album: Album) -> int:
    """Take the wanted pictures in one language; return how many."""
    variants = [(scheme, width) for scheme in SCHEMES for width in HEIGHTS]
    from tests.acceptance.browser.acts import leave

    taken = 0
    with browser.new_context(locale=language, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(f"{place.origin}/admin/login/?next=/")
        page.locator("#id_username").fill(place.login)
        page.locator("#id_password").fill(place.password)
        page.locator("[type=submit]").click()
        for shot in place.shots:
            names = {
                f"{shot.name}-{language}-{scheme}-{width}": (scheme, width)
                for scheme, width in variants
            }
            names = {name: variant for name, variant in names.items() if album.wanted(name)}
            if not names:
                continue
            page.set_viewport_size({"width": 1280, "height": HEIGHTS[1280]})
            leave(page)
            shot.arrive(page)
            for name, (scheme, width) in names.items():
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
                write(album.folder / f"{name}.png", whole(page, width, album.longest))
                taken += 1
    return taken


def whole(page: Page, width: int, longest: int) -> bytes:
    """Take a page from its top to its end, or to where it gets too long."""
    height = int(page.evaluate("document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": width, "height": max(min(height, longest), 1)}
    return page.screenshot(full_page=True, clip=clip, animations="disabled")  # type: ignore[arg-type]


def write(path: Path, picture: bytes) -> None:
    """Write a picture with few colours: a screen has no more, and it stays small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
