"""The limits of a call come from four settings, each with its default."""

from typing import Any

from payments_pages.conf import conf
from payments_pages.limits import Limits


def test_without_settings_the_defaults_hold(configure: Any) -> None:
    configure(CONNECT_TIMEOUT=None, READ_TIMEOUT=None, DEADLINE=None, MAX_CALLS=None)
    assert conf.limits == Limits()
    assert Limits() == Limits(connect_timeout=3, read_timeout=5, deadline=8, max_calls=None)


def test_each_setting_is_read_anew(configure: Any) -> None:
    configure(CONNECT_TIMEOUT=1, READ_TIMEOUT=2, DEADLINE=4, MAX_CALLS=7)
    assert conf.limits == Limits(connect_timeout=1, read_timeout=2, deadline=4, max_calls=7)
    configure(MAX_CALLS=9)
    assert conf.limits.max_calls == 9
