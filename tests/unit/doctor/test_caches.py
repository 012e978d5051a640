"""A cache that a second process sees, and caches that it does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from payments_pages.doctor import Health
from payments_pages.doctor import caches as caches_module
from payments_pages.doctor.caches import cache


def test_a_cache_that_both_processes_see_is_right_and_left_as_it_was(shared_cache: Path) -> None:
    assert cache().health is Health.RIGHT
    assert list(shared_cache.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["locmem.LocMemCache", "dummy.DummyCache"])
def test_a_cache_per_process_is_told(
    settings: Any, module_of_settings: Callable[[str], None], backend: str
) -> None:
    caches = {"default": {"BACKEND": f"django.core.cache.backends.{backend}"}}
    settings.CACHES = caches
    module_of_settings(f"CACHES = {caches!r}")
    found = cache()
    assert (found.health, "not shared" in found.seen) == (Health.WRONG, True)
    assert "Redis" in found.advice


def test_processes_with_directories_of_their_own_share_nothing(
    settings: Any, tmp_path: Path, shared_cache: Path
) -> None:
    """By its name this cache would be a shared one."""
    default = settings.CACHES["default"]
    settings.CACHES = {"default": {**default, "LOCATION": str(tmp_path / "another")}}
    assert cache().health is Health.WRONG


def test_a_cache_that_cannot_be_reached_is_told_without_its_address(settings: Any) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://user:secret-0001@127.0.0.1:9/0",
        }
    }
    found = cache()
    assert (found.health, "cannot be used" in found.seen) == (Health.WRONG, True)
    assert "secret-0001" not in found.seen + found.advice


def test_a_second_process_that_ends_is_told(module_of_settings: Callable[[str], None]) -> None:
    module_of_settings("raise SystemExit(3)")
    found = cache()
    assert (found.health, "exit code 3" in found.seen) == (Health.UNKNOWN, True)


def test_a_second_process_that_hangs_is_told(
    module_of_settings: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches_module, "TIMEOUT", 1)
    module_of_settings("import time\ntime.sleep(60)")
    found = cache()
    assert (found.health, "within 1 s" in found.seen) == (Health.UNKNOWN, True)


def test_what_settings_print_is_not_taken_for_the_value(
    shared_cache: Path, module_of_settings: Callable[[str], None], settings: Any
) -> None:
    module_of_settings(f"CACHES = {settings.CACHES!r}\nprint('Welcome')")
    assert cache().health is Health.RIGHT


def test_settings_without_a_module_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")
    assert cache().health is Health.UNKNOWN


def test_a_cache_that_the_site_does_not_have_is_told(configure: Any) -> None:
    configure(CACHE="nowhere")
    found = cache()
    assert (found.health, "nowhere" in found.seen) == (Health.WRONG, True)
