"""Every check id has a setting that provokes it, and the suite's own settings provoke none."""

from typing import Any

import pytest
from django.conf import settings
from django.core.checks import run_checks

from payments_pages import checks

SITE = "https://shop.merchant.ps"
LIVE = {
    "SECRET_KEY": "sk_live_abc",
    "BASE_URL": "https://api.example",
    "PAY_URL": "https://pay.example",
}


def found(prefix: str = "payments_pages") -> list[str]:
    """What is found, save the warning that some databases of the suite deserve (`TESTS_SQLITE`)."""
    deserved = {"payments_pages.W003"} & set(settings.SILENCED_SYSTEM_CHECKS)
    ids = {message.id or "" for message in run_checks()} - deserved
    return sorted(number for number in ids if number.startswith(prefix))


def test_sound_settings_are_silent(configure: Any) -> None:
    configure(**LIVE, SITE_URL=SITE)
    assert found() == []


@pytest.mark.parametrize(
    ("keys", "ids"),
    [
        ({"SECRET_KEY": None}, ["payments_pages.E001"]),
        ({"BASE_URL": None}, ["payments_pages.E001"]),
        ({"PAY_URL": ""}, ["payments_pages.E001"]),
        ({"HANDLER": None}, ["payments_pages.E001"]),
        ({"SECRET_KY": "x"}, ["payments_pages.E002"]),
        ({"deadline": 3}, ["payments_pages.E002"]),
        ({"BASE_URL": "http://api.example"}, ["payments_pages.E004"]),
        ({"BASE_URL": "ftp://api.example"}, ["payments_pages.E004"]),
        ({"BASE_URL": "https://user:pw@api.example"}, ["payments_pages.E004"]),
        ({"PAY_URL": "pay.example"}, ["payments_pages.E004"]),
        ({"SITE_URL": "http://shop.example"}, ["payments_pages.E004"]),
        ({"BASE_URL": "http://[::1"}, ["payments_pages.E004"]),
        ({"SITE_URL": "https://shop.merchant.ps/shop"}, ["payments_pages.E004"]),
        ({"SITE_URL": "https://shop.merchant.ps/?x=1"}, ["payments_pages.E004"]),
        ({"SITE_URL": " https://shop.merchant.ps"}, ["payments_pages.E004"]),
        ({"SITE_URL": "https://shop.merchant.ps/"}, []),
        ({"SITE_URL": "http://shop.localhost:8000"}, []),
        ({"SITE_URL": "https://shop.example"}, ["payments_pages.E034"]),
        ({"SITE_URL": "https://www.Example.com/"}, ["payments_pages.E034"]),
        ({"SITE_URL": "https://example.org:8443"}, ["payments_pages.E034"]),
        ({"SITE_URL": "https://shop.test"}, ["payments_pages.E034"]),
        ({"SITE_URL": "https://shop.invalid."}, ["payments_pages.E034"]),
        ({"SITE_URL": "https://notexample.com"}, []),
        ({"MODE": "prod"}, ["payments_pages.E005"]),
        ({"SECRET_KEY": "abc"}, ["payments_pages.E005"]),
        ({"MODE": "test"}, ["payments_pages.E006"]),
        ({"HANDLER": "tests.support.goods.nowhere.deliver"}, ["payments_pages.E007"]),
        ({"HANDLER": "tests.support.goods.handlers.nothing"}, ["payments_pages.E007"]),
        ({"HANDLER": "deliver"}, ["payments_pages.E007"]),
        ({"HANDLER": "tests.support.settings.TIME_ZONE"}, ["payments_pages.E008"]),
        ({"DEADLINE": 0}, ["payments_pages.E009"]),
        ({"LEASE": "60"}, ["payments_pages.E009"]),
        ({"MAX_ATTEMPTS": True}, ["payments_pages.E009"]),
        ({"CURRENCIES": {"egp": 2}}, ["payments_pages.E010"]),
        ({"CURRENCIES": {"EGP": "2"}}, ["payments_pages.E010"]),
        ({"CURRENCIES": ["EGP"]}, ["payments_pages.E010"]),
        ({"REFERENCE_PATTERN": "["}, ["payments_pages.E011"]),
        ({"REFERENCE_PARAMS": "reference"}, ["payments_pages.E012"]),
        ({"REFERENCE_PARAMS": ()}, ["payments_pages.E012"]),
        ({"ATTRIBUTION": ("callbak",)}, ["payments_pages.E013"]),
        ({"ATTRIBUTION": "callback"}, ["payments_pages.E013"]),
        ({"UNKNOWN_STATUSES": (500,)}, ["payments_pages.E014"]),
        ({"WEBHOOK_ALGORITHM": "md5", "WEBHOOK_HEADER": "x"}, ["payments_pages.E017"]),
        ({"WEBHOOK_SECRETS": [b"x"]}, ["payments_pages.E018"]),
        ({"WEBHOOK_SECRETS": ()}, ["payments_pages.E018"]),
        ({"WEBHOOK_HEADER": "x-lahza-signature"}, ["payments_pages.W004"]),
        ({"WEBHOOK_ALGORITHM": "sha256"}, ["payments_pages.W004"]),
        ({"MERCHANT_NAME": 3}, ["payments_pages.E019"]),
        ({"WHAT_HAPPENS_NEXT": {}}, ["payments_pages.E019"]),
        ({"MERCHANT_CONTACT": {"en": None}}, ["payments_pages.E019"]),
        ({"OVERDUE": -1}, ["payments_pages.E009"]),
        ({"MAX_CALLS": 0}, ["payments_pages.E009"]),
        ({"UNKNOWN_PER_ADDRESS": "20"}, ["payments_pages.E009"]),
        ({"UNKNOWN_IN_ALL": -1}, ["payments_pages.E009"]),
        ({"CACHE": "nowhere"}, ["payments_pages.E023"]),
        ({"RESULT_VIEW": "shop:nowhere"}, ["payments_pages.E016"]),
        ({"HANDLER_ATOMIC": "no"}, ["payments_pages.E020"]),
        ({"DELIVERY": "later"}, ["payments_pages.E021"]),
        ({"DELIVERY": "queued"}, ["payments_pages.E022"]),
        ({"DELIVERY": "queued", "NUDGE": "tests.support.goods.nowhere"}, ["payments_pages.E022"]),
        ({"NUDGE": "tests.support.settings.TIME_ZONE"}, ["payments_pages.E022"]),
        ({"BASE_URL": "http://127.0.0.1:8001/api"}, ["payments_pages.W001"]),
        ({"SECRET_KEY": "sk_test_abc"}, ["payments_pages.W002"]),
    ],
)
def test_a_wrong_setting_is_found(configure: Any, keys: dict[str, Any], ids: list[str]) -> None:
    configure(**{**LIVE, "SITE_URL": SITE, **keys})
    assert found() == ids


def test_a_setting_that_is_no_dict_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PAYMENTS_PAGES", ["SECRET_KEY"])
    assert "payments_pages.E003" in [message.id for message in checks.check_keys(None)]


def test_urls_that_are_not_included_are_found(settings: Any, configure: Any) -> None:
    configure(**LIVE, SITE_URL=SITE)
    settings.ROOT_URLCONF = "tests.support.empty_urls"
    assert found() == ["payments_pages.E015"]


def test_deferred_sqlite_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        settings, "DATABASES", {"default": {"ENGINE": "django.db.backends.sqlite3"}}
    )
    assert [message.id for message in checks.check_database(None)] == ["payments_pages.W003"]


@pytest.mark.parametrize(
    ("tasks", "ids"),
    [
        ({}, ["payments_pages.W005"]),
        ({"default": {"BACKEND": "x.tasks.backends.ImmediateBackend"}}, ["payments_pages.W005"]),
        ({"default": {"BACKEND": "x.tasks.backends.DummyBackend"}}, ["payments_pages.W005"]),
        ({"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}, []),
    ],
)
def test_a_task_backend_that_is_no_queue_is_found(
    settings: Any, configure: Any, tasks: dict[str, Any], ids: list[str]
) -> None:
    settings.TASKS = tasks
    configure(DELIVERY="queued", NUDGE="payments_pages.tasks.nudge")
    assert [message.id for message in checks.check_tasks(None)] == ids
    settings.DEBUG = True
    assert checks.check_tasks(None) == []
    settings.DEBUG = False
    configure(DELIVERY=None)
    assert checks.check_tasks(None) == []


SHARED = "django.core.cache.backends.filebased.FileBasedCache"


@pytest.mark.parametrize(
    ("backend", "warned"),
    [
        ("django.core.cache.backends.locmem.LocMemCache", True),
        ("django.core.cache.backends.dummy.DummyCache", True),
        (SHARED, False),
        ("django.core.cache.backends.redis.RedisCache", False),
    ],
)
def test_a_cache_that_each_process_has_for_itself_is_found_on_deploy(
    settings: Any, configure: Any, backend: str, warned: bool
) -> None:
    configure(**LIVE, SITE_URL=SITE, CACHE="counters")
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
        "counters": {"BACKEND": backend, "LOCATION": "/nowhere"},
    }
    ids = [message.id for message in run_checks(include_deployment_checks=True)]
    assert ("payments_pages.W006" in ids) is warned
    assert "payments_pages.W006" not in found()


def test_a_site_without_time_zones_is_found(settings: Any) -> None:
    settings.USE_TZ = False
    assert "payments_pages.E024" in [message.id for message in checks.check_database(None)]


def test_a_callable_key_is_not_called(configure: Any) -> None:
    def vault() -> str:
        raise AssertionError("a check asked the vault")

    configure(**{**LIVE, "SECRET_KEY": vault}, SITE_URL=SITE)
    assert found() == ["payments_pages.W007"]
    configure(MODE="live")
    assert found() == []
    configure(MODE="lively")
    assert found() == ["payments_pages.E005"]


def test_every_message_says_what_to_write_and_never_the_key(configure: Any) -> None:
    configure(
        SECRET_KEY="sk_test_LEAKME0001",
        MODE="live",
        BASE_URL="http://x.example",
        HANDLER="no.where",
        NONSENSE=1,
        DEADLINE=0,
    )
    messages = [m for m in run_checks() if (m.id or "").startswith("payments_pages")]
    assert len(messages) >= 5
    for message in messages:
        assert message.hint
        assert "LEAKME" not in f"{message.msg}{message.hint}"


def test_an_unknown_key_names_the_one_that_was_meant(configure: Any) -> None:
    configure(SECRET_KYE="x")
    (message,) = [m for m in run_checks() if m.id == "payments_pages.E002"]
    assert message.hint == "Did you mean 'SECRET_KEY'?"


@pytest.mark.django_db
def test_no_check_asks_the_database(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        for name in checks.__all__:
            getattr(checks, name)(None)
