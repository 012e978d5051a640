"""The README is run, not read: its install steps, in a clean environment, from the built wheel."""

import json
import os
import re
import subprocess
import sys
import textwrap
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import responses
from django.core.management import call_command

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass

ROOT = Path(__file__).resolve().parent.parent.parent
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


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configure: Any) -> Iterator[Any]:
    """The warehouse of the handler for the outside world, and that handler as the site's own."""
    append(tmp_path / "readme_shop" / "handlers.py", snippet("external"))
    monkeypatch.syspath_prepend(tmp_path)
    configure(HANDLER="readme_shop.handlers.ship", HANDLER_ATOMIC=False)
    with responses.RequestsMock() as warehouse:
        warehouse.add_passthru("http://127.0.0.1")
        yield warehouse
    del sys.modules["readme_shop.handlers"], sys.modules["readme_shop"]


def keys_sent(warehouse: Any) -> list[str]:
    calls = [call.request for call in warehouse.calls if "warehouse.example" in call.request.url]
    return [request.headers["Idempotency-Key"] for request in calls]


@pytest.mark.django_db(transaction=True)
def test_the_handler_for_the_outside_world_says_the_same_keys_when_it_is_tried_again(
    ship: Any, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    ship.post("https://warehouse.example/reserve")
    ship.post("https://warehouse.example/send", status=503)
    ship.post("https://warehouse.example/send")
    reference = sandbox.pay("tea-box", email="payer@example.test")
    outcomes = [come_for(reference, tea_box) for _time in range(2)]
    assert outcomes == [Outcome.DELIVERY_FAILED, Outcome.DELIVERED]
    key = Fulfilment.objects.get().idempotency_key
    assert keys_sent(ship) == [f"{key}-reserve", f"{key}-send"] * 2
    bodies = {call.request.body for call in ship.calls if "warehouse" in call.request.url}
    assert bodies == {json.dumps({"reference": reference, "to": "payer@example.test"}).encode()}


@pytest.mark.django_db(transaction=True)
def test_the_handler_for_the_outside_world_stops_when_its_lease_has_ended(
    ship: Any, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    def take_too_long(_request: Any) -> tuple[int, dict[str, str], str]:
        let_time_pass(3600)
        return 200, {}, ""

    ship.add_callback("POST", "https://warehouse.example/reserve", take_too_long)
    assert come_for(sandbox.pay("tea-box"), tea_box) is Outcome.DELIVERY_FAILED
    assert keys_sent(ship) == [f"{Fulfilment.objects.get().idempotency_key}-reserve"]


def come_for(reference: str, page: PaymentPage) -> Outcome:
    return confirm_payment(reference, door=Door.CALLBACK, page_token=page.token).outcome


@pytest.mark.queue("tasks")
@pytest.mark.django_db(transaction=True)
def test_the_snippet_for_django_s_tasks_leaves_deliveries_to_the_worker_it_names(
    tea_box: PaymentPage, sandbox: Sandbox, settings: Any
) -> None:
    names: dict[str, Any] = {
        "PAYMENTS_PAGES": dict(settings.PAYMENTS_PAGES),
        "INSTALLED_APPS": [],
    }
    exec(compile(snippet("tasks"), "README.md tasks", "exec"), names)
    assert set(names["INSTALLED_APPS"]) <= set(settings.INSTALLED_APPS)
    settings.TASKS, settings.PAYMENTS_PAGES = names["TASKS"], names["PAYMENTS_PAGES"]
    assert come_for(sandbox.pay("tea-box"), tea_box) is Outcome.DELIVERING
    (worker,) = set(re.findall(r"`manage\.py\s(\w*worker)`", README))
    call_command(worker, batch=True, interval=0, startup_delay=False, verbosity=0)
    assert Fulfilment.objects.get().state == "delivered"


CELERY_SITE = """
import threading
import django
import shop
django.setup()
from celery import current_app
from payments_pages.celery import nudge
apps = []
def door():
    apps.append(current_app._get_current_object())
    nudge("PPG-1")
thread = threading.Thread(target=door)
thread.start()
thread.join()
from shop.celery import app
assert apps == [app], apps
with app.connection_for_read() as connection:
    message = connection.SimpleQueue(app.conf.task_default_queue).get(timeout=1)
app.loader.import_default_modules()
(entry,) = app.conf.beat_schedule.values()
assert {message.headers["task"], entry["task"]} <= set(app.tasks), entry
assert (message.payload[0], entry["schedule"]) == (["PPG-1"], 60)
"""


@pytest.mark.queue("celery")
def test_the_snippet_for_celery_makes_an_app_that_doors_workers_and_beat_know(
    tmp_path: Path,
) -> None:
    """Imported as the README says, by the package of the settings."""
    append(tmp_path / "shop" / "celery.py", snippet("celery.py"))
    (line,) = re.findall(r"`(from shop\.celery import app)`", README)
    append(tmp_path / "shop" / "__init__.py", line)
    append(tmp_path / "shop" / "settings.py", "from tests.support.settings import *")
    append(tmp_path / "door.py", CELERY_SITE)
    environment = {"CELERY_BROKER_URL": "memory://", "PYTHONPATH": str(ROOT)}
    run(sys.executable, "door.py", cwd=tmp_path, **environment)


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
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", README)) - {"is"}
    assert named <= targets
    assert {"demo", "test", "test-all", "check"} <= named


def test_every_python_block_is_run_by_a_test() -> None:
    blocks = README.count("```python")
    assert blocks == len(re.findall(r"<!-- snippet: \S+ -->\n```python", README)) == 11
