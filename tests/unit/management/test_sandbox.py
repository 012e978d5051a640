"""The command that serves a sandbox for this site's settings."""

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command

from payments_pages.management.commands.payments_pages_sandbox import Command

SITE = {
    "SECRET_KEY": "sk_test_cli",
    "BASE_URL": "http://localhost:8765/api",
    "SITE_URL": "http://127.0.0.1:8000",
    "WEBHOOK_HEADER": "x-shop-signature",
    "WEBHOOK_ALGORITHM": "sha512",
}


def options(*arguments: str) -> dict[str, Any]:
    parser = ArgumentParser()
    Command().add_arguments(parser)
    return vars(parser.parse_args(arguments))


@pytest.mark.parametrize(
    ("secrets", "secret"),
    [
        (None, None),
        ("whsec_1", "whsec_1"),
        (("whsec_new", "whsec_old"), "whsec_new"),
        (lambda: ["whsec_vault"], "whsec_vault"),
    ],
)
def test_f8_it_signs_and_sends_webhooks_as_this_site_expects_them(
    configure: Any, secrets: Any, secret: str | None
) -> None:
    configure(**SITE, WEBHOOK_SECRETS=secrets)
    found = options()
    assert (found["port"], found["secret_key"]) == (8765, "sk_test_cli")
    assert found["webhook_url"] == "http://127.0.0.1:8000/payments/webhook/"
    assert (found["webhook_header"], found["webhook_algorithm"]) == ("x-shop-signature", "sha512")
    assert found["webhook_secret"] == secret
    assert options("--webhook-url", "http://127.0.0.1:9/")["webhook_url"] == "http://127.0.0.1:9/"


def test_what_the_settings_do_not_say_is_the_sandboxs_own(configure: Any) -> None:
    configure(SECRET_KEY="sk_live_x", BASE_URL="https://api.example:444", WEBHOOK_HEADER=None)
    found = options()
    assert (found["port"], found["secret_key"], found["webhook_url"]) == (8001, None, None)


def test_a_named_service_is_enough(configure: Any) -> None:
    configure(SERVICE="sandbox", BASE_URL=None, WEBHOOK_HEADER=None, WEBHOOK_ALGORITHM=None)
    assert options()["port"] == 8001
    assert options()["webhook_header"] == "x-lahza-signature"


def test_f18_pages_outlive_a_restart_in_a_file_beside_the_database(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "shop.sqlite3"}
    monkeypatch.setattr(django_settings, "DATABASES", {"default": database})
    assert options()["state"] == tmp_path / "shop-sandbox.json"
    server = {"ENGINE": "django.db.backends.postgresql", "NAME": "shop"}
    monkeypatch.setattr(django_settings, "DATABASES", {"default": server})
    assert options()["state"] == Path("sandbox.json")
    other = options("--state", "elsewhere.json")
    assert other["state"] == Path("elsewhere.json")


WITHOUT_WERKZEUG = """
import sys
sys.modules["werkzeug"] = None
"""


AS_MODULE = 'import runpy; runpy._run_module_as_main("payments_pages.sandbox")'
AS_COMMAND = """
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "payments_pages_sandbox", "--port", "0"])
"""


@pytest.mark.parametrize("program", [AS_MODULE, AS_COMMAND])
def test_f7_without_its_extra_it_says_so_in_one_line(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WERKZEUG + program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"DJANGO_SETTINGS_MODULE": "tests.support.settings", "PATH": ""},
        cwd=Path(django_settings.BASE),
    )
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "pip install payments-pages[sandbox]" in done.stderr


def test_an_address_that_is_open_to_others_is_refused(capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        call_command("payments_pages_sandbox", "--host", "0.0.0.0", "--no-state")
    assert caught.value.code == 2
    assert "--allow-remote" in capsys.readouterr().out
