"""The README is run, not read: its install steps, in a clean environment, from the built wheel."""

import os
import re
import subprocess
import sys
import textwrap
import venv
from pathlib import Path
from typing import Any

import pytest

from payments_pages.sandbox import Sandbox

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()

PURCHASE = """
import json, sys, urllib.request
import django
django.setup()
from django.test import Client
from payments_pages import __file__ as where
from payments_pages.models import Fulfilment, Transaction
from payments_pages.pages import create_page
from shop.models import Licence

assert "site-packages" in where, where
page = create_page(name="Tea box", amount=12050, description="12 bags", slug="tea-box")
body = json.dumps({"page": "tea-box", "email": "payer@example.test"}).encode()
request = urllib.request.Request(
    sys.argv[1] + "/pay", data=body, headers={"Content-Type": "application/json"}
)
reference = json.load(urllib.request.urlopen(request))["reference"]
path = page.redirect_url.removeprefix("https://shop.example")
client = Client(SERVER_NAME="localhost")
for _ in range(3):
    answer = client.get(path, {"reference": reference}, follow=True)
    assert answer.status_code == 200, answer.status_code
    assert "Payment received" in answer.content.decode()
assert Licence.objects.count() == Fulfilment.objects.count() == Transaction.objects.count() == 1
print(reference)
"""


def snippet(name: str) -> str:
    match = re.search(
        rf"<!-- snippet: {re.escape(name)} -->\n```python\n(.*?)```", README, re.DOTALL
    )
    assert match, f"the README has no snippet {name}"
    return match[1]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    clean = {
        k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "DJANGO_SETTINGS_MODULE"}
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def append(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + textwrap.dedent(text))


def write_project(folder: Path, python: Path) -> None:
    """Start a project as a new user would, and paste the README's snippets into it."""
    run(python, "-m", "django", "startproject", "site_", folder, cwd=folder)
    append(folder / "shop" / "__init__.py", "")
    append(
        folder / "shop" / "models.py",
        """
        from django.db import models

        class Licence(models.Model):
            email = models.TextField()
            product = models.TextField()
        """,
    )
    append(folder / "shop" / "handlers.py", snippet("handlers.py"))
    settings = folder / "site_" / "settings.py"
    append(settings, "\nimport os\nINSTALLED_APPS += ['shop']\n" + snippet("settings.py"))
    append(settings, "DATABASES['default']['OPTIONS'] = {'transaction_mode': 'IMMEDIATE'}\n")
    append(folder / "site_" / "urls.py", "\nfrom django.urls import include\n" + snippet("urls.py"))


@pytest.mark.timeout(400)
def test_the_install_steps_work_from_the_built_wheel(tmp_path: Path) -> None:
    wheels, project = tmp_path / "wheels", tmp_path / "project"
    project.mkdir()
    build = (sys.executable, "-m", "build", "--wheel", "--outdir", wheels, ROOT)
    run(*build, cwd=tmp_path)
    (wheel,) = wheels.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    import django

    series = f"Django=={django.VERSION[0]}.{django.VERSION[1]}.*"
    run(python, "-m", "pip", "install", "-q", wheel, series, cwd=tmp_path)
    installed = run(python, "-m", "pip", "list", "--format=freeze", cwd=tmp_path).lower()
    assert "werkzeug" not in installed
    assert "environ" not in installed
    write_project(project, python)
    with Sandbox(secret_key="sk_test_suite") as sandbox:
        environment = {
            "DJANGO_SETTINGS_MODULE": "site_.settings",
            "PAYMENTS_PAGES_SECRET_KEY": "sk_test_suite",
            "PAYMENTS_PAGES_BASE_URL": sandbox.base_url,
            "PAYMENTS_PAGES_PAY_URL": sandbox.pay_url,
        }
        run(python, "manage.py", "makemigrations", "shop", cwd=project, **environment)
        for line in commands_of("**5.**"):
            run(python, *line.split()[1:], cwd=project, **environment)
        (project / "purchase.py").write_text(PURCHASE)
        reference = run(python, "purchase.py", sandbox.control_url, cwd=project, **environment)
        out = run(
            python,
            "manage.py",
            "payments_pages_confirm",
            reference.strip(),
            cwd=project,
            **environment,
        )
        assert "already_delivered" in out
        assert sandbox.verify_calls(reference.strip()) == 1


def commands_of(heading: str) -> list[str]:
    """The console lines of the first block after a heading."""
    block = README.split(heading, 1)[1].split("```console\n", 1)[1].split("```", 1)[0]
    lines = [line for line in block.splitlines() if line.strip()]
    assert lines
    return lines


@pytest.mark.django_db(transaction=True)
def test_the_snippet_for_testing_a_handler_runs(settings: Any) -> None:
    exec(compile(snippet("test"), "README.md", "exec"), {"settings": settings})


@pytest.mark.django_db
def test_the_snippets_of_the_doors_run(settings: Any) -> None:
    from django.core.checks import run_checks
    from django.urls import path

    names: dict[str, Any] = {
        "PAYMENTS_PAGES": dict(settings.PAYMENTS_PAGES),
        "urlpatterns": [],
        "path": path,
    }
    for name in ("webhook", "texts", "expect", "health"):
        exec(compile(snippet(name), f"README.md {name}", "exec"), names)
    settings.PAYMENTS_PAGES = names["PAYMENTS_PAGES"]
    assert [m for m in run_checks() if (m.id or "").startswith("payments_pages.E")] == []
    assert names["expected"].amount == 12050
    assert len(names["urlpatterns"]) == 1


def test_the_blocks_in_the_readme_are_those_of_the_template() -> None:
    base = (ROOT / "payments_pages/templates/payments_pages/base.html").read_text()
    blocks = re.findall(r"{% block (\w+) %}", base)
    text = README.split("fill its blocks", 1)[1].split(". Or send", 1)[0]
    assert re.findall(r"`(\w+)`", text) == blocks
    pages = re.findall(
        r"`(\w+\.html)`", README.split("To change a page", 1)[1].split("all of", 1)[0]
    )
    assert all((ROOT / "payments_pages/templates/payments_pages" / page).exists() for page in pages)
    assert len(pages) == 6


def test_the_settings_table_is_the_code() -> None:
    from payments_pages.conf import KEYS

    table = README.split("## Settings", 1)[1].split("## Commands", 1)[0]
    named = {
        key
        for line in table.splitlines()
        if line.startswith("| `")
        for key in re.findall(r"`([A-Z_]+)`", line.split("|")[1])
    }
    assert named == KEYS


def test_the_commands_table_is_the_code() -> None:
    table = README.split("## Commands", 1)[1].split("## Listening", 1)[0]
    named = set(re.findall(r"^\| `(payments_pages_\w+)", table, re.MULTILINE))
    files = (ROOT / "payments_pages" / "management" / "commands").glob("payments_pages_*.py")
    assert named == {path.stem for path in files}


def test_each_make_command_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)", README)) - {"is"}
    assert named <= targets
    assert {"demo", "test", "check"} <= named


def test_every_python_block_is_run_by_a_test() -> None:
    blocks = README.count("```python")
    assert blocks == len(re.findall(r"<!-- snippet: \S+ -->\n```python", README)) == 8
