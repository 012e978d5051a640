"""The quick start of README.md is done as it is written, in an empty folder, from the built wheel.

Django is the series that runs this suite: CI has a run on the oldest one and a run on the newest.
"""

import re
import sys
import zipfile
from pathlib import Path

import django
import pytest
import requests

from tests.support.projects import Programs, environment, free_port, run, wait_for
from tests.support.repository import BUILD
from tests.support.snippets import ROOT, page_text, snippet

README = page_text("README.md")
PASSWORD = "quick-start-9"
SANDBOX = "http://127.0.0.1:8001"

INSTALLED = """
import django, importlib.metadata, payments_pages
assert "site-packages" in payments_pages.__file__, payments_pages.__file__
print(django.VERSION[0], django.VERSION[1])
print(*sorted({one.name.lower() for one in importlib.metadata.distributions()}))
print(importlib.metadata.distribution("payments-pages").read_text("RECORD"))
"""


SECOND = """
import django
django.setup()
from payments_pages.conf import conf
from shop.models import Licence
print(conf.site_url, conf.get("SECRET_KEY"), Licence.objects.count())
"""


def commands(name: str, text: str = README) -> list[str]:
    """Return the lines of a block of commands."""
    (block,) = re.findall(
        rf"^<!-- commands: {name} -->\n```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE
    )
    return [line for line in block.splitlines() if line.strip()]


def target(name: str) -> Path:
    """Return the file that the text before a block names: "… `mysite/settings.py`"."""
    before = README.partition(f"<!-- snippet: {name} -->")[0]
    return Path(re.findall(r"`([\w/]+\.py)`", before)[-1])


class Project:
    """A folder, the wheel that pip finds, and a shell whose environment is the project's own."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        constraints = folder.parent / "constraints.txt"
        series = ".".join(map(str, django.VERSION[:2]))
        constraints.write_text(f"payments-pages=={wheel.name.split('-')[1]}\nDjango=={series}.*\n")
        interpreter = folder.parent / "bin"
        interpreter.mkdir()
        (interpreter / "python").symlink_to(sys.executable)
        self.variables = {
            "PIP_CONSTRAINT": str(constraints),
            "PIP_FIND_LINKS": str(wheel.parent),
            "PIP_QUIET": "1",
            "PATH": f"{folder / '.venv' / 'bin'}:{interpreter}:{environment()['PATH']}",
        }

    def do(self, lines: list[str], **more: str) -> str:
        return run("bash", "-ec", "\n".join(lines), cwd=self.folder, **{**self.variables, **more})

    def write(self, name: str, *, after: bool = False) -> None:
        path = self.folder / target(name)
        path.write_text((path.read_text() + "\n" if after else "") + snippet("README.md", name))


class Staff:
    """Somebody at the admin of a site, by its forms."""

    def __init__(self, site: str) -> None:
        self.site, self.browser = site, browser()

    def see(self, path: str) -> str:
        answer = self.browser.get(self.site + path, timeout=20)
        assert answer.ok, answer.text
        return answer.text

    def send(self, path: str, **fields: str) -> str:
        token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', self.see(path))[0]
        data = {**fields, "csrfmiddlewaretoken": token}
        answer = self.browser.post(self.site + path, data=data, timeout=20)
        assert answer.ok, answer.text
        return answer.text


def browser() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    return session


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    run(*BUILD, "--wheel", "--outdir", tmp_path / "wheels", ROOT, cwd=tmp_path)
    (found,) = (tmp_path / "wheels").glob("*.whl")
    return found


def follow(tmp_path: Path, wheel: Path) -> Project:
    """Do the steps up to the one that runs the site."""
    folder = tmp_path / "project"
    folder.mkdir()
    project = Project(folder, wheel)
    project.do(commands("project"))
    for name in ("settings.py", "sqlite", "urls.py"):
        project.write(name, after=True)
    for name in ("models.py", "admin.py", "handlers.py"):
        project.write(name)
    for line in commands("tables"):
        asks = "createsuperuser" in line
        answers = " --noinput --username admin --email admin@shop.example" if asks else ""
        out = project.do([f"{line}{answers} 2>&1"], DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    assert set(re.findall(r"payments_pages\.([EW]\d+)", out)) == {"W024"}
    assert "The warning W024" in README
    return project


@pytest.mark.timeout(580)
@pytest.mark.xdist_group("port of the sandbox")
def test_the_quick_start_works_from_the_built_wheel(tmp_path: Path, wheel: Path) -> None:
    project = follow(tmp_path, wheel)
    look_at_what_is_installed(project, wheel)
    site = f"http://127.0.0.1:{free_port()}"
    with Programs(project.folder, logs=tmp_path / "logs", **project.variables) as programs:
        for line in commands("terminals"):
            # Not port 8000, which may be taken; nor a second process that watches the files.
            more = f" --noreload {site.rpartition(':')[2]}" if "runserver" in line else ""
            programs.start("bash", "-ec", f"exec {line}{more}")
        wait_for(f"{SANDBOX}/_sandbox/state")
        wait_for(f"{site}/admin/login/")
        sell(Staff(site), project)
    open_a_second_account(project)


def look_at_what_is_installed(project: Project, wheel: Path) -> None:
    """This wheel's own files, on this Django, with the sandbox's dependency and no other extra's."""
    out = run(project.folder / ".venv/bin/python", "-c", INSTALLED, cwd=project.folder)
    series, names, *files = out.splitlines()
    assert series.split() == [str(part) for part in django.VERSION[:2]]
    assert "werkzeug" in names.split()
    assert not {"celery", "cryptography", "django-environ", "segno"} & set(names.split())
    with zipfile.ZipFile(wheel) as built:
        (record,) = (name for name in built.namelist() if name.endswith("/RECORD"))
        lines = built.read(record).decode().splitlines()
    assert {line for line in lines if line.startswith("payments_pages/")} <= set(files)


def sell(staff: Staff, project: Project) -> None:
    """Do the last step: log in, add a page, pay at its address, see the delivery, reload."""
    staff.send("/admin/login/?next=/admin/", username="admin", password=PASSWORD)
    listed = staff.send(
        "/admin/payments_pages/paymentpage/add/", name="Tea box", amount="120.50", slug="tea-box"
    )
    (address,) = set(re.findall(rf'href="({SANDBOX}/pay/[\w-]+)"', listed))
    payer = browser()
    form = payer.get(address, timeout=20).text
    (pay,) = re.findall(r'<button class="primary" name="choice" value="(\w+)">Pay<', form)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    fields |= {"email": "payer@shop.example", "choice": pay}
    shown = payer.post(address, data=fields, timeout=20)
    assert shown.url.startswith(f"{staff.site}/payments/result/"), shown.text
    callback = shown.history[-1].url
    assert callback.startswith(f"{staff.site}/payments/callback/")
    for page in (shown, *(payer.get(callback, timeout=20) for _time in range(3))):
        assert "Payment received" in page.text
    assert "delivered" in staff.see("/admin/payments_pages/transaction/")
    licences = staff.see("/admin/shop/licence/")
    assert "tea-box for payer@shop.example" in licences
    assert re.search(r"\b1 licence\b", licences)
    project.do(["python manage.py payments_pages_sweep"])
    calls = requests.get(f"{SANDBOX}/_sandbox/calls?operation=verify", timeout=20).json()
    assert calls["calls"] == 1, calls


def open_a_second_account(project: Project) -> None:
    """Do what docs/several-sites.md says: the same project once more, with a database of its own."""
    page = "several-sites.md"
    (project.folder / "mysite" / "settings_second.py").write_text(
        snippet(page, "settings_second.py")
    )
    lines = [*commands("second", page_text(page)), f"python -c '{SECOND}'"]
    out = project.do(lines, SECOND_SECRET_KEY="sk_test_second")
    assert out.splitlines()[-1] == "https://second.shop.example sk_test_second 0"
    assert (project.folder / "second.sqlite3").is_file()


def test_the_settings_that_are_required_are_three() -> None:
    keys = re.findall(r'^    "([A-Z_]+)":', snippet("README.md", "settings.py"), re.MULTILINE)
    assert keys == ["SERVICE", "SECRET_KEY", "HANDLER"]


def test_the_section_is_whole() -> None:
    """The page of the docs includes it, from its heading to the next one."""
    section = README.partition("\n## Quick start\n")[2].partition("\n## ")[0]
    names = re.findall(r"<!-- (?:snippet|commands): (\S+) -->", section)
    assert names == [
        "project", "settings.py", "sqlite", "urls.py", "models.py", "admin.py", "handlers.py",
        "tables", "terminals", "site",
    ]  # fmt: skip
