"""The command as a whole: what it prints, what it ends with, and that it changes nothing."""

import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.doctor import LINES, Health, examine
from payments_pages.sandbox import Sandbox
from tests.conftest import KEY
from tests.support.door_behaviour import pay
from tests.support.webhook_signing import SECRET

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "doctor.md").read_text()


def run(*arguments: str, stream: io.StringIO | None = None) -> tuple[str, str]:
    """Return what it prints, and its error; "" if it ends well."""
    out, error = stream or io.StringIO(), ""
    try:
        call_command("payments_pages_doctor", *arguments, stdout=out)
    except CommandError as failure:
        error = str(failure)
    return out.getvalue(), error


def rows() -> dict[str, list[Any]]:
    return {
        model._meta.label: list(model._base_manager.order_by("pk").values())
        for model in apps.get_models()
    }


def remembered(sandbox: Sandbox) -> Any:
    return deepcopy((sandbox.state._pages, sandbox.state._transactions))


def test_a_healthy_site_ends_well_and_nothing_is_changed(
    site: str, sandbox: Sandbox, shared_cache: Path
) -> None:
    confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    before, at_the_service, asked = rows(), remembered(sandbox), len(sandbox.requests)
    text, error = run()
    assert error == ""
    states = re.findall(r"^(\w+) +(\w+) +\S", text, re.MULTILINE)
    assert [name for _state, name in states] == list(LINES)
    assert {name: state for state, name in states} == {
        **dict.fromkeys(LINES, "right"),
        "settings": "warning",
    }
    assert rows() == before
    assert remembered(sandbox) == at_the_service
    assert {request.method for request in sandbox.requests[asked:]} == {"GET"}
    assert list(shared_cache.iterdir()) == []


@pytest.mark.slow
def test_json_is_one_object_with_every_line(site: str) -> None:
    text, error = run("--json")
    told = json.loads(text)
    assert (told["healthy"], error) == (True, "")
    assert [line["name"] for line in told["lines"]] == list(LINES)
    assert {tuple(line) for line in told["lines"]} == {("name", "health", "seen", "advice")}
    assert all(bool(line["advice"]) != (line["health"] == "right") for line in told["lines"])


@pytest.mark.slow
def test_a_fault_is_told_beside_what_is_right_and_ends_with_exit_code_1(
    site: str, configure: Any
) -> None:
    configure(SECRET_KEY="sk_test_another", WEBHOOK_SECRETS=None)
    text, error = run()
    assert error == "Wrong: key."
    assert re.search(r"^WRONG +key +The service refuses the secret key", text, re.MULTILINE)
    assert re.search(r"^ +→ Set SECRET_KEY", text, re.MULTILINE)
    told, error = run("--json")
    assert (json.loads(told)["healthy"], error) == (False, "Wrong: key.")


@pytest.mark.slow
def test_no_secret_and_nothing_of_a_payer_is_shown(
    site: str, sandbox: Sandbox, configure: Any, dead: str
) -> None:
    confirm_payment(pay(sandbox, email="payer@example.test"), door=Door.CALLBACK)
    shown = "".join(run())
    configure(BASE_URL=dead, PAY_URL=dead, SITE_URL=dead)
    shown += "".join(run("--json"))
    for secret in (KEY, SECRET, "whsec", "payer@example.test"):
        assert secret not in shown


@pytest.mark.slow
def test_an_error_of_one_line_leaves_the_others_alone(
    site: str, configure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_handlers.py").write_text("raise RuntimeError('secret-0001')")
    monkeypatch.syspath_prepend(str(tmp_path))
    configure(HANDLER="broken_handlers.deliver")
    found = dict(examine())
    assert list(found) == list(LINES)
    assert found["handler"].seen == "This could not be looked at: RuntimeError."
    assert found["key"].health is found["webhook"].health is Health.RIGHT


def test_a_setting_that_is_missing_is_told_by_name(site: str, configure: Any) -> None:
    configure(SECRET_KEY=None, MODE=None)
    found = dict(examine())
    assert found["mode"].health is Health.WRONG
    assert "PAYMENTS_PAGES['SECRET_KEY'] is missing" in found["mode"].seen
    assert found["cache"].health is Health.RIGHT


@pytest.mark.slow
def test_a_service_that_hangs_does_not_hang_the_doctor(
    site: str, sandbox: Sandbox, configure: Any
) -> None:
    configure(DEADLINE=1, READ_TIMEOUT=1, CONNECT_TIMEOUT=1)
    sandbox.faults.add(kind="hang")
    started = time.monotonic()
    found = dict(examine())
    assert time.monotonic() - started < 15
    assert found["base_url"].health is Health.WRONG
    assert "did not answer" in found["base_url"].seen
    assert found["webhook"].health is Health.RIGHT


@pytest.mark.slow
def test_a_database_that_is_away_leaves_the_others_alone(
    site: str, child_environment: Callable[[], dict[str, str]], configure: Any
) -> None:
    configure(SITE_URL=None)
    environment = child_environment() | {"DATABASE_URL": "sqlite:////nowhere/at/all.sqlite3"}
    del environment["TESTS_DATABASE_NAME"]
    done = subprocess.run(
        [sys.executable, "-m", "django", "payments_pages_doctor", "--json"],
        env=environment | {"DJANGO_SETTINGS_MODULE": "tests.support.settings"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    lines = {line["name"]: line for line in json.loads(done.stdout)["lines"]}
    assert list(lines) == list(LINES)
    assert lines["key"]["health"] == "right"
    for name in ("database_clock", "transactions", "sweep", "attribution"):
        assert lines[name]["seen"] == "This could not be looked at: OperationalError."


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
def test_a_terminal_sees_what_is_looked_at(site: str) -> None:
    text, _error = run(stream=Terminal())
    assert "\r\x1b[Kwebhook …" in text
    assert "\x1b" not in run("--json", stream=Terminal())[0]


def test_the_page_lists_every_line() -> None:
    table = PAGE.split("\n## The lines\n")[1].split("\n### ")[0]
    assert re.findall(r"^\| `(\w+)` \| \S", table, re.MULTILINE) == list(LINES)


def test_the_page_lists_every_health() -> None:
    table = PAGE.split("| health |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \| \S", table, re.MULTILINE) == [*Health]
