"""What the system checks find, as lines of the doctor."""

from typing import Any

import pytest

from payments_pages.doctor import Health
from payments_pages.doctor.checks import handler, settings

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("site")
def test_only_the_test_key_is_told() -> None:
    found = settings()
    assert found.health is Health.WARNING
    assert found.seen == "A test key is used with DEBUG off. (payments_pages.W002)"


@pytest.mark.usefixtures("site")
def test_an_unknown_key_is_a_fault(configure: Any) -> None:
    configure(WEBHOOK_HEADR="x")
    found = settings()
    assert (found.health, "payments_pages.E002" in found.seen) == (Health.WRONG, True)
    assert "Did you mean 'WEBHOOK_HEADER'?" in found.advice


def test_what_the_site_has_silenced_is_not_told(site: str, settings: Any) -> None:
    from payments_pages.doctor.checks import settings as look

    settings.SILENCED_SYSTEM_CHECKS = ["payments_pages.W002"]
    assert look().health is Health.RIGHT


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("shop.nowhere.deliver", "cannot be imported"),
        ("tests.support.goods.handlers.nothing_of_that_name", "cannot be imported"),
        ("tests.support.settings.TIME_ZONE", "not callable"),
        ("django.db.connections.close_all", "cannot be imported"),
        ("django.utils.timezone.now", "cannot be called with one argument"),
    ],
)
def test_a_handler_that_cannot_deliver_is_told(configure: Any, path: str, seen: str) -> None:
    configure(HANDLER=path)
    found = handler()
    assert (found.health, seen in found.seen) == (Health.WRONG, True)


def test_a_good_handler_is_named(configure: Any) -> None:
    assert handler().seen == (
        "tests.support.goods.handlers.deliver can be called with a fulfilment; it runs in the "
        "transaction that marks the delivery."
    )
    configure(HANDLER_ATOMIC=False)
    assert handler().seen.endswith("it runs on its own.")
