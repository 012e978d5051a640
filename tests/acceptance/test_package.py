"""The wheel and the sdist: what is in them, what they say of themselves, and that they work.

They are built as for a release, and the wheel is installed with the lowest versions that it asks for.
"""

import base64
import csv
import email
import hashlib
import io
import os
import re
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.repository import BUILD, files_of_the_repository

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (ROOT / "docs" / "upgrading.md").read_text("utf-8")
OURS = {"PYTHONPATH", "DJANGO_SETTINGS_MODULE", "DATABASE_URL"}
# The group keeps the tests in one process, which builds once; the port is that of the quick start.
pytestmark = [pytest.mark.xdist_group("port of the sandbox"), pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Built:
    """The files of a release, and the same wheel built without the sdist in between."""

    sdist: Path
    wheel: Path
    direct: Path


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name not in OURS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    run(*BUILD, "--outdir", folder / "release", ROOT, cwd=folder)
    run(*BUILD, "--wheel", "--outdir", folder / "direct", ROOT, cwd=folder)
    (sdist,) = (folder / "release").glob("*.tar.gz")
    (wheel,) = (folder / "release").glob("*.whl")
    (direct,) = (folder / "direct").glob("*.whl")
    return Built(sdist, wheel, direct)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_package_without_what_translators_need_and_nothing_else(
    built: Built,
) -> None:
    files = set(contents(built.wheel))
    info = f"payments_pages-{version()}.dist-info"
    package = {name for name in files if not name.startswith(f"{info}/")}
    expected = {name for name in files_of_the_repository() if name.startswith("payments_pages/")}
    assert package == {name for name in expected if not name.endswith(".po")}
    assert files - package == {
        f"{info}/METADATA",
        f"{info}/WHEEL",
        f"{info}/RECORD",
        f"{info}/licenses/LICENSE",
    }
    for needed in (
        "py.typed",
        "migrations/0001_initial.py",
        "locale/ar/LC_MESSAGES/django.mo",
        "locale/he/LC_MESSAGES/django.mo",
        "sandbox/locale/ar/LC_MESSAGES/django.mo",
        "static/payments_pages/popup.js",
        "templates/payments_pages/base.html",
        "testing/__init__.py",
    ):
        assert f"payments_pages/{needed}" in package


def test_the_sdist_has_every_file_of_the_repository(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {member.name.split("/", 1)[1] for member in archive if member.isfile()}
    assert names - {"PKG-INFO"} == files_of_the_repository()
    assert {"SECURITY.md", "CONTRIBUTING.md", "Makefile", ".ci/run", "scripts/release"} <= names


def test_the_tests_run_in_the_unpacked_sdist(built: Built, tmp_path: Path) -> None:
    """Those that read files of the repository, and those that read the code."""
    run("tar", "-xf", str(built.sdist), cwd=tmp_path)
    (folder,) = tmp_path.iterdir()
    some = (
        "tests/acceptance/test_paths.py",
        "tests/unit/test_rooms.py",
        "tests/unit/test_money.py",
    )
    # `-m pytest` puts the folder before the installed package.
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *some, cwd=folder)
    assert "make TARGET" in run("make", "help", cwd=folder)


def test_the_wheel_is_the_same_through_the_sdist_and_without(built: Built) -> None:
    assert contents(built.wheel) == contents(built.direct)


def test_the_record_names_each_file_with_its_hash(built: Built) -> None:
    files = contents(built.wheel)
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    rows = {name: digest for name, digest, _size in csv.reader(io.StringIO(files[record].decode()))}
    assert rows.pop(record) == ""
    del files[record]
    hashes = {name: hashlib.sha256(data).digest() for name, data in files.items()}
    assert rows == {
        name: f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"
        for name, digest in hashes.items()
    }


def version() -> str:
    text = (ROOT / "payments_pages" / "__init__.py").read_text("utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(found)


def test_the_metadata_is_what_an_index_takes(built: Built) -> None:
    """`twine check` renders the README as an index does."""
    told = run(
        *(sys.executable, "-m", "twine", "check", "--strict", built.sdist, built.wheel),
        cwd=built.sdist.parent,
    )
    assert told.count("PASSED") == 2, told
    (metadata,) = (
        data for name, data in contents(built.wheel).items() if name.endswith("/METADATA")
    )
    told_of = email.message_from_string(metadata.decode())
    assert told_of["Name"] == "payments-pages"
    assert told_of["Version"] == version()
    assert told_of["Requires-Python"] == PROJECT["requires-python"]
    assert told_of.get_all("Classifier") == PROJECT["classifiers"]
    assert told_of.get_payload() == (ROOT / "README.md").read_text("utf-8")


def test_who_installs_it_is_offered_the_extras_of_a_shop_and_no_tools(built: Built) -> None:
    (metadata,) = (
        data for name, data in contents(built.wheel).items() if name.endswith("/METADATA")
    )
    told_of = email.message_from_string(metadata.decode())
    extras = set(told_of.get_all("Provides-Extra", []))
    assert extras == set(PROJECT["optional-dependencies"])
    assert extras - {"docs"} == {
        *("cards", "celery", "mariadb", "postgresql", "qr", "sandbox", "tasks", "xlsx")
    }
    # Celery's way to Redis imports it on some versions, and does not ask for it.
    asked = told_of.get_all("Requires-Dist", [])
    assert any(re.match(r"packaging\b.*extra == .celery", one) for one in asked)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


PORT = free_port()
HANDLERS = """
from django.contrib.auth.models import Group


def deliver(fulfilment):
    Group.objects.create(name=fulfilment.transaction.reference)
"""
SETTINGS = """
INSTALLED_APPS += ["payments_pages", "shop"]
PAYMENTS_PAGES = {
    "SERVICE": "sandbox",
    "SECRET_KEY": "sk_test_sandbox",
    "HANDLER": "shop.handlers.deliver",
    "SITE_URL": "http://127.0.0.1:PORT",
    "ATTRIBUTION": ("expected", "metadata", "callback"),
}
# One that the doctor's second process sees, too.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": BASE_DIR / "cache",
    }
}
DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE"}
"""
URLS = """
from django.urls import include

urlpatterns += [path("payments/", include("payments_pages.urls"))]
"""
TESTS = """
from django.contrib.auth.models import Group
from django.test import TransactionTestCase

import payments_pages
from payments_pages import testing


class OneSale(testing.SandboxMixin, TransactionTestCase):
    def test_a_payment_is_delivered_once(self):
        assert "site-packages" in payments_pages.__file__
        page = testing.make_page(name="Tea box", amount=12050)
        visit = testing.pay(self.sandbox, page, email="payer@example.test")
        testing.rush(visit.reference, times=3, page=page)
        given = Group.objects.filter(name=visit.reference)
        testing.assert_delivered_once(visit.reference, given)
"""


@pytest.fixture(scope="module")
def lowest(built: Built, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project on the wheel and exactly the lowest versions that it asks for."""
    folder = tmp_path_factory.mktemp("lowest")
    asked = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["sandbox"]
    assert all(one.count(">=") == 1 for one in asked)
    pins = [one.replace(">=", "==") for one in asked]
    venv.create(folder / "venv", with_pip=True)
    python, project = folder / "venv" / "bin" / "python", folder / "project"
    project.mkdir()
    install = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*install, f"{built.wheel}[sandbox]", *pins, cwd=folder)
    run(python, "-m", "django", "startproject", "site_", project, cwd=folder)
    run(python, "manage.py", "startapp", "shop", cwd=project)
    (project / "shop" / "handlers.py").write_text(HANDLERS)
    (project / "shop" / "tests.py").write_text(TESTS)
    settings = SETTINGS.replace("PORT", str(PORT))
    for name, more in (("settings.py", settings), ("urls.py", URLS)):
        file = project / "site_" / name
        file.write_text(file.read_text() + more)
    return python, project


def test_with_the_lowest_versions_it_sells_one_thing_once(lowest: tuple[Path, Path]) -> None:
    python, project = lowest
    run(python, "-m", "pip", "check", cwd=project)
    run(python, "manage.py", "check", "--fail-level", "WARNING", cwd=project)
    run(python, "manage.py", "makemigrations", "--check", "payments_pages", cwd=project)
    run(python, "manage.py", "test", "shop", cwd=project)


@pytest.fixture
def running(lowest: tuple[Path, Path]) -> Iterator[None]:
    """Run the sandbox, and the site, as the doctor wants to find them."""
    python, project = lowest
    run(python, "manage.py", "migrate", "-v0", cwd=project)
    programs = [
        subprocess.Popen(
            [python, "manage.py", *arguments],
            cwd=project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name not in OURS},
        )
        for arguments in (["payments_pages_sandbox"], ["runserver", "--noreload", str(PORT)])
    ]
    try:
        for port in (8001, PORT):
            wait_for(port)
        run(python, "manage.py", "payments_pages_sweep", cwd=project)
        yield
    finally:
        for program in programs:
            program.terminate()
            program.wait(20)


def wait_for(port: int) -> None:
    for _time in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"nothing answers at port {port}")


@pytest.mark.usefixtures("running")
def test_the_commands_of_the_page_on_upgrading_run(lowest: tuple[Path, Path]) -> None:
    python, project = lowest
    block = PAGE.split("<!-- commands: upgrade -->\n```console\n")[1].split("```")[0]
    lines = [line.removeprefix("$ python ").split() for line in block.splitlines()]
    assert lines[0] == ["-m", "pip", "install", "--upgrade", "payments-pages"]
    for line in lines[1:]:
        told = run(python, *line, cwd=project)
        if "payments_pages_doctor" in line:
            assert "WRONG" not in told, told
    assert requests.get(f"http://127.0.0.1:{PORT}/admin/login/", timeout=20).ok
