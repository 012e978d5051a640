"""Every check id has a setting that provokes it, and the suite's own settings provoke none."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import run_checks

from payments_pages import checks
from payments_pages.conf import conf
from payments_pages.presets import PRESETS
from tests.support.mails import use_backend

SITE = "https://shop.merchant.ps"
OWNERS = "tests.support.goods.owners"
CARD_KEY = Fernet.generate_key().decode()
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


def found_on_deploy() -> set[str]:
    return {message.id or "" for message in run_checks(include_deployment_checks=True)}


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
        ({"SECRET_KEY": " pk_live_abc"}, ["payments_pages.E042"]),
        ({"SECRET_KEY": "pk_test_abc", "MODE": "test"}, ["payments_pages.E042"]),
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
        ({"MERCHANT": {"NAME": 3}}, ["payments_pages.E019"]),
        ({"MERCHANT": {"NEXT_STEPS": {}}}, ["payments_pages.E019"]),
        ({"MERCHANT": {"CONTACT": {"en": None}}}, ["payments_pages.E019"]),
        ({"MERCHANT": "Olive Shop"}, ["payments_pages.E036"]),
        ({"MERCHANT": {"LOGOS": "x.svg"}}, ["payments_pages.E036"]),
        ({"MERCHANT": {3: "x"}}, ["payments_pages.E036"]),
        ({"MERCHANT_NAME": "Olive Shop"}, ["payments_pages.E002"]),
        ({"MERCHANT": {"NAME": {"en": "Olive", "ar": "زيتون"}}}, ["payments_pages.W023"]),
        ({"MERCHANT": {"NAME": {"en": "x", "ar": "x", "he": ""}}}, ["payments_pages.W023"]),
        ({"MERCHANT": {"NAME": {"en-gb": "x", "ar-ps": "x", "he": "x"}}}, []),
        ({"SERVICE": "lazha"}, ["payments_pages.E035"]),
        ({"SERVICE": ["lahza"]}, ["payments_pages.E035"]),
        ({"SERVICE": ""}, ["payments_pages.E035"]),
        ({"SERVICE": "lahza", "ATTRIBUTION": ("callback",)}, []),
        ({"SERVICE": "lahza"}, ["payments_pages.W024"]),
        ({"SERVICE": "lahza", "WEBHOOK_HEADER": ""}, ["payments_pages.W004"]),
        ({"SERVICE": "lahza", "WEBHOOK_HEADER": "", "WEBHOOK_ALGORITHM": ""}, []),
        ({"WEBHOOK_HEADER": "x-s", "WEBHOOK_ALGORITHM": "sha256"}, ["payments_pages.W024"]),
        ({"PROXY": "proxy:3128"}, ["payments_pages.E037"]),
        ({"PROXY": "https://proxy.example:3128"}, ["payments_pages.E037"]),
        ({"PROXY": "http://proxy.example"}, ["payments_pages.E037"]),
        ({"PROXY": "http://proxy.example:port"}, ["payments_pages.E037"]),
        ({"PROXY": "http://name:word@proxy.example:3128"}, []),
        ({"CA_BUNDLE": "/no/such/file"}, ["payments_pages.E038"]),
        ({"RESULT_CSP": "no"}, ["payments_pages.E039"]),
        ({"RESULT_CSP": False}, []),
        ({"LEASE": float("inf")}, ["payments_pages.E009"]),
        ({"DEADLINE": float("nan")}, ["payments_pages.E009"]),
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
        ({"NOTIFY": "owner@shop.example"}, ["payments_pages.E043"]),
        ({"NOTIFY": ["owner"]}, ["payments_pages.E043"]),
        ({"NOTIFY": [3]}, ["payments_pages.E043"]),
        ({"NOTIFY": {"owner@shop.example"}}, ["payments_pages.E043"]),
        ({"NOTIFY": ["owner@shop.example\nBcc: x@evil.example"]}, ["payments_pages.E043"]),
        ({"NOTIFY": ["owner@shop.example", "Till <till@shop.example>"]}, []),
        ({"NOTIFY": ()}, []),
        ({"SAVE_CARD": f"{OWNERS}.by_email", "CARD_KEYS": [CARD_KEY]}, []),
        ({"SAVE_CARD": f"{OWNERS}.by_email", "CARD_KEYS": CARD_KEY}, []),
        ({"SAVE_CARD": f"{OWNERS}.by_email", "CARD_KEYS": lambda: 1 / 0}, []),
        ({"CARD_KEYS": [CARD_KEY, CARD_KEY]}, []),
        ({"SAVE_CARD": "nowhere.owner", "CARD_KEYS": [CARD_KEY]}, ["payments_pages.E050"]),
        ({"SAVE_CARD": f"{OWNERS}.nobody", "CARD_KEYS": [CARD_KEY]}, ["payments_pages.E050"]),
        ({"SAVE_CARD": f"{OWNERS}.CALLS", "CARD_KEYS": [CARD_KEY]}, ["payments_pages.E050"]),
        ({"SAVE_CARD": f"{OWNERS}.later", "CARD_KEYS": [CARD_KEY]}, ["payments_pages.E050"]),
        (
            {"SAVE_CARD": f"{OWNERS}.without_argument", "CARD_KEYS": [CARD_KEY]},
            ["payments_pages.E050"],
        ),
        ({"SAVE_CARD": f"{OWNERS}.by_email"}, ["payments_pages.E051"]),
        ({"SAVE_CARD": f"{OWNERS}.by_email", "CARD_KEYS": []}, ["payments_pages.E051"]),
        ({"SAVE_CARD": f"{OWNERS}.by_email", "CARD_KEYS": ["LEAKME"]}, ["payments_pages.E051"]),
        ({"CARD_KEYS": [CARD_KEY, "LEAKME"]}, ["payments_pages.E051"]),
        ({"CARD_KEYS": 7}, ["payments_pages.E051"]),
    ],
)
def test_a_wrong_setting_is_found(configure: Any, keys: dict[str, Any], ids: list[str]) -> None:
    configure(**{**LIVE, "SITE_URL": SITE, **keys})
    assert found() == ids


def test_saved_cards_without_their_extra_are_found(
    configure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments_pages.encryption.find_spec", lambda name: None)
    configure(**LIVE, SITE_URL=SITE, SAVE_CARD=f"{OWNERS}.by_email", CARD_KEYS=[CARD_KEY])
    assert found() == ["payments_pages.E052"]
    configure(SAVE_CARD=None, CARD_KEYS=None)
    assert found() == []


def test_no_message_quotes_a_key_of_cards(configure: Any) -> None:
    configure(**LIVE, SITE_URL=SITE, CARD_KEYS=[CARD_KEY, "LEAKME"])
    (message,) = checks.check_cards(None)
    told = f"{message.msg} {message.hint}"
    assert "Key 2" in told
    assert CARD_KEY not in told
    assert "LEAKME" not in told


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
    ("engine", "ids"),
    [
        ("sqlite3", ["payments_pages.E040"]),
        ("mysql", ["payments_pages.E040"]),
        ("postgresql", []),
    ],
)
def test_a_database_with_a_time_zone_of_its_own_is_refused_where_times_would_be_hours_off(
    monkeypatch: pytest.MonkeyPatch, engine: str, ids: list[str]
) -> None:
    database = {
        "ENGINE": f"django.db.backends.{engine}",
        "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        "TIME_ZONE": "Asia/Hebron",
    }
    monkeypatch.setattr(settings, "DATABASES", {"default": database})
    assert [message.id for message in checks.check_database(None)] == ids


def test_a_test_key_is_found_where_a_site_is_deployed_and_nowhere_else(
    settings: Any, configure: Any
) -> None:
    configure(SECRET_KEY="sk_test_abc", SITE_URL=SITE)
    assert "payments_pages.W002" not in found()
    assert "payments_pages.W002" in found_on_deploy()
    settings.DEBUG = True
    assert "payments_pages.W002" not in found_on_deploy()
    settings.DEBUG = False
    configure(SECRET_KEY="sk_live_abc")
    assert "payments_pages.W002" not in found_on_deploy()


@pytest.mark.parametrize(
    ("backend", "sender", "ids"),
    [
        ("smtp", "shop@merchant.ps", set()),
        ("console", "shop@merchant.ps", {"payments_pages.W025"}),
        ("dummy", "webmaster@localhost", {"payments_pages.W025", "payments_pages.W026"}),
        ("smtp", "webmaster@localhost", {"payments_pages.W026"}),
    ],
)
def test_mails_to_staff_that_nobody_would_get_are_found_where_a_site_is_deployed(
    settings: Any, configure: Any, backend: str, sender: str, ids: set[str]
) -> None:
    use_backend(settings, f"django.core.mail.backends.{backend}.EmailBackend")
    settings.DEFAULT_FROM_EMAIL = sender
    ours = {"payments_pages.W025", "payments_pages.W026"}
    assert not ours & found_on_deploy()
    configure(NOTIFY=["owner@merchant.ps"])
    assert found_on_deploy() & ours == ids
    assert not ours & set(found())


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_service_fills_what_a_site_leaves_out_and_what_is_set_beside_it_wins(
    configure: Any, name: str
) -> None:
    left_out = dict.fromkeys(("BASE_URL", "PAY_URL", "WEBHOOK_HEADER", "WEBHOOK_ALGORITHM"))
    configure(SERVICE=name, **left_out)
    preset = PRESETS[name]
    assert (conf.base_url, conf.pay_url) == (preset["BASE_URL"], preset["PAY_URL"])
    assert conf.webhook_header == preset["WEBHOOK_HEADER"]
    assert conf.webhook_algorithm == preset["WEBHOOK_ALGORITHM"]
    assert conf.exponents == preset["CURRENCIES"]
    configure(BASE_URL="https://api.example/", WEBHOOK_HEADER="", CURRENCIES={"KWD": 3, "USD": 2})
    assert (conf.base_url, conf.pay_url) == ("https://api.example", preset["PAY_URL"])
    assert conf.webhook_header == ""
    assert conf.exponents == {**preset["CURRENCIES"], "KWD": 3, "USD": 2}


def test_a_wrong_service_says_which_there_are(configure: Any) -> None:
    configure(SERVICE="paystak")
    (message,) = [m for m in run_checks() if m.id == "payments_pages.E035"]
    assert message.hint is not None
    assert message.hint.startswith("Did you mean 'paystack'?")
    for name in PRESETS:
        assert f'"{name}"' in message.hint


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
