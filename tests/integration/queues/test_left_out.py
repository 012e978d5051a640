"""Tests of queues are left out only where there is no queue, and never where they must run."""

import pytest

from tests.support import brokers


@pytest.fixture(autouse=True)
def at_a_persons_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUIRE_BROKERS", raising=False)
    monkeypatch.setattr(brokers, "_NEEDED", {"redis": ("json",), "tasks": ("json",)})


def test_a_broker_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "_PORTS", {"redis": 1})
    assert brokers.why_left_out("redis") == "redis: nothing answers on 127.0.0.1:1"


def test_an_engine_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "_NEEDED", {"tasks": ("json", "no_such_engine")})
    assert brokers.why_left_out("tasks") == "tasks: no_such_engine not installed"


def test_what_is_there_runs() -> None:
    assert brokers.why_left_out("tasks") is None


def test_where_they_must_run_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "_PORTS", {"redis": 1})
    monkeypatch.setenv("REQUIRE_BROKERS", "1")
    assert brokers.why_left_out("redis") is None
