"""Find the browser of the browser tests."""

import shutil

__all__ = ["find_chromium"]


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None: then the browser tests are left out, visibly."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)
