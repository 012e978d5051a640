"""Find the browser of the browser tests."""

import shutil

__all__ = ["find_chromium"]


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None: then the browser tests are left out, visibly.

    First the one without windows: it starts in a third of the time.
    """
    names = (
        "chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser",
        "google-chrome", "google-chrome-stable",
    )  # fmt: skip
    return next((path for name in names if (path := shutil.which(name))), None)
