"""A site at which all is right: each test breaks one thing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from payments_pages.confirmation import sweep_due
from payments_pages.models import PaymentPage
from payments_pages.pages import sync_pages
from payments_pages.sandbox import Sandbox
from tests.support.webhook_signing import HEADER, SECRET


@pytest.fixture
def module_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let second processes have the suite's settings and these lines."""

    def write(lines: str) -> None:
        text = f"from tests.support.settings import *\n{lines}\n"
        (tmp_path / "settings_of_doctor.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3]))
        monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "settings_of_doctor")

    return write


@pytest.fixture
def shared_cache(tmp_path: Path, settings: Any, module_of_settings: Callable[[str], None]) -> Path:
    """A cache in a directory, which every process sees."""
    directory = tmp_path / "cache"
    caches = {
        "default": {
            "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
            "LOCATION": str(directory),
        }
    }
    settings.CACHES = caches
    module_of_settings(f"CACHES = {caches!r}")
    return directory


@pytest.fixture
def site(
    transactional_db: None,
    live_server: Any,
    sandbox: Sandbox,
    configure: Any,
    shared_cache: Path,
) -> str:
    """The origin of a site at which all is right."""
    configure(
        SITE_URL=live_server.url,
        WEBHOOK_HEADER=HEADER,
        WEBHOOK_ALGORITHM="sha256",
        WEBHOOK_SECRETS=("whsec_new_0001", SECRET),
        ATTRIBUTION=("expected", "metadata", "callback"),
    )
    sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    sync_pages()
    sweep_due()
    assert PaymentPage.objects.count() == 1
    return str(live_server.url)


@pytest.fixture
def dead() -> str:
    """An origin at which nothing listens."""
    return "http://127.0.0.1:9"
