"""`scripts/release` refuses whatever is not ready, and says why; a tree that is ready passes."""

import datetime as dt
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.repository import ROOT, files_of_the_repository

# A real address that nobody is sent to: the script refuses reserved names, and opens nothing.
ADDRESS = "https://www.iana.org/help/example-domains"
URLS = "\n[project.urls]\n" + "".join(
    f'{name} = "{ADDRESS}"\n' for name in ("Documentation", "Source", "Issues", "Changelog")
)
MIGRATION = "payments_pages/migrations/0001_initial.py"

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.xdist_group("release"),
    pytest.mark.timeout(600),
]


@dataclass(frozen=True)
class Repository:
    """A clone to be made unready."""

    path: Path

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@shop.example")
        command = ("git", *who, *arguments)
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, "utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.path / name).read_text("utf-8")
        assert old in text, f"{name} has no {old!r}"
        self.write(name, text.replace(old, new, 1))

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "A change")

    def release(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        keep = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "PYTHONPATH"}}
        return subprocess.run(
            [sys.executable, "scripts/release", *arguments],
            cwd=self.path,
            env=keep,
            capture_output=True,
            text=True,
            check=False,
        )

    def refusals(self, *arguments: str) -> list[str]:
        done = self.release(*arguments)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "git tag" not in done.stdout
        found = re.findall(r"^release: (.*)", done.stderr, re.MULTILINE)
        assert found, done.stderr
        return found


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository like this one, on main, with addresses and a date, whose gate and docs pass."""
    path = tmp_path_factory.mktemp("release") / "ready"
    for name in files_of_the_repository():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, path / name)
    clone = Repository(path)
    clone.git("init", "--quiet", "--initial-branch", "main")
    clone.change(
        "pyproject.toml",
        "\n[project.optional-dependencies]",
        f"{URLS}\n[project.optional-dependencies]",
    )
    clone.write("SECURITY.md", f"Report it at <{ADDRESS}>.\n")
    clone.write("Makefile", ".PHONY: docs\ndocs:\n\t@test ! -e docs/broken.md\n")
    clone.write(".ci/run", "test ! -e broken\n")
    if "(not released)" in (path / "CHANGELOG.md").read_text("utf-8"):
        done = clone.release("--set-date")
        assert done.returncode == 0, done.stderr
    clone.commit()
    return path


@pytest.fixture
def clone(ready: Path, tmp_path: Path) -> Repository:
    shutil.copytree(ready, tmp_path / "clone")
    return Repository(tmp_path / "clone")


def version(clone: Repository) -> str:
    text = (clone.path / "payments_pages" / "__init__.py").read_text("utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(found)


def today() -> str:
    return dt.datetime.now(dt.UTC).date().isoformat()


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs GNU gettext")
def test_what_is_ready_is_built_and_its_last_commands_are_printed_and_not_run(
    clone: Repository,
) -> None:
    done = clone.release()
    assert done.returncode == 0, done.stdout + done.stderr
    head, number = clone.git("rev-parse", "HEAD"), version(clone)
    for line in (
        "$ bash .ci/run",
        f"  git tag --annotate v{number} --message {number} {head}",
        f"  git push origin v{number}",
        f"-m twine upload dist/payments_pages-{number}*",
    ):
        assert line in done.stdout
    assert clone.git("tag") == ""
    assert {path.name for path in (clone.path / "dist").iterdir()} == {
        f"payments_pages-{number}.tar.gz",
        f"payments_pages-{number}-py3-none-any.whl",
    }
    assert clone.git("status", "--porcelain") == ""
    # A second time, for a gate that ran elsewhere.
    done = clone.release("--gate-passed", head)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ".ci/run" not in done.stdout


Change = Callable[[Repository], object]

QUICK: dict[str, tuple[Change, str]] = {
    "a file is changed": (
        lambda clone: clone.change("README.md", "# ", "## "),
        r"the tree is not clean: README\.md",
    ),
    "a file is new": (
        lambda clone: clone.write("notes.txt", "x"),
        r"the tree is not clean: notes\.txt",
    ),
    "another branch": (
        lambda clone: clone.git("checkout", "--quiet", "-b", "better"),
        "the branch is better: releases are made of main",
    ),
    "tagged": (
        lambda clone: clone.git("tag", f"v{version(clone)}"),
        r"v[\d.]+ is tagged already",
    ),
    "an unfinished version": (
        lambda clone: (
            clone.change("payments_pages/__init__.py", '__version__ = "', '__version__ = "dev'),
            clone.change("CHANGELOG.md", "\n## ", "\n## dev"),
        ),
        r'__version__ is "dev[\d.]+": a release has three numbers',
    ),
    "a version that the changelog has not": (
        lambda clone: clone.change("CHANGELOG.md", "\n## ", "\n## 9"),
        r'CHANGELOG\.md begins with "9[^"]+" and not with a section "[\d.]+ \(…\)"',
    ),
    "no date": (
        lambda clone: clone.change("CHANGELOG.md", f"({today()})", "(not released)"),
        "CHANGELOG.md says that it is not released: run scripts/release --set-date, and commit",
    ),
    "no real date": (
        lambda clone: clone.change("CHANGELOG.md", f"({today()})", "(2026-02-30)"),
        r'CHANGELOG.md has "2026-02-30" where the day of the release belongs',
    ),
    "a date to come": (
        lambda clone: clone.change("CHANGELOG.md", f"({today()})", "(2999-01-01)"),
        r'CHANGELOG.md has "2999-01-01" where',
    ),
    "nothing is said of it": (
        lambda clone: clone.write("CHANGELOG.md", f"# C\n\n## {version(clone)} ({today()})\n\n"),
        r"CHANGELOG\.md says nothing about [\d.]+",
    ),
    "no changelog": (
        lambda clone: clone.write("CHANGELOG.md", ""),
        r'CHANGELOG\.md begins with "nothing"',
    ),
    "no address": (
        lambda clone: clone.change("pyproject.toml", f'Issues = "{ADDRESS}"\n', ""),
        r"pyproject\.toml has no address for Issues in \[project\.urls\]",
    ),
    "an open address": (
        lambda clone: clone.change("pyproject.toml", 'Source = "https', 'Source = "http'),
        r"Source in \[project\.urls\] is http:.*: it does not begin with https",
    ),
    "a reserved address": (
        lambda clone: clone.change("pyproject.toml", "www.iana.org", "source.shop.example"),
        r"Documentation in \[project\.urls\] is .*: its host is a reserved name, or none",
    ),
    "an address of this machine": (
        lambda clone: clone.change("pyproject.toml", "www.iana.org", "localhost:8000"),
        "its host is a reserved name, or none",
    ),
    "an address in numbers": (
        lambda clone: clone.change("pyproject.toml", "www.iana.org", "192.0.2.1"),
        "its host is a number and not a name",
    ),
    "nowhere to report": (
        lambda clone: clone.write("SECURITY.md", "Report it at https://shop.example/.\n"),
        r"SECURITY\.md names no https address where a fault can be reported",
    ),
    "a migration is edited": (
        lambda clone: clone.change(MIGRATION, "max_length=64", "max_length=65"),
        r"0001_initial\.py is not the file that was frozen in scripts/migrations\.sha256",
    ),
    "a migration is gone": (
        lambda clone: (clone.path / MIGRATION).unlink(),
        r"0001_initial\.py is not the file that was frozen",
    ),
    "a migration is not frozen": (
        lambda clone: clone.write("payments_pages/migrations/0099_more.py", ""),
        r"0099_more\.py is not frozen: add its line to scripts/migrations\.sha256",
    ),
    "a Django that gets no fixes any more": (
        lambda clone: clone.change("docs/support.md", "| 6.1 | December 2027 |", "| 6.1 | May 2020 |"),
        r"6\.1 in docs/support\.md ended in May 2020: leave it out, with its classifier",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), QUICK.values(), ids=list(QUICK))
def test_what_is_quick_to_see_is_refused_by_itself(
    clone: Repository, change: Change, sentence: str
) -> None:
    change(clone)
    if "not clean" not in sentence:
        clone.commit()
    (said,) = clone.refusals("--gate-passed", "nothing")
    assert re.search(sentence, said), said


def test_all_that_is_quick_to_see_is_said_at_once(clone: Repository) -> None:
    clone.write("SECURITY.md", "Nowhere.\n")
    clone.git("checkout", "--quiet", "-b", "better")
    said = clone.refusals()
    assert [line.split()[0] for line in said] == ["the", "the", "SECURITY.md"]


def without_the_check_of_translations(clone: Repository) -> Repository:
    """It takes a while, and is tried by itself."""
    clone.write("tests/support/translations.py", "")
    return clone


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs GNU gettext")
def test_a_translation_that_is_not_compiled_is_refused(clone: Repository) -> None:
    (clone.path / "payments_pages/locale/ar/LC_MESSAGES/django.mo").unlink()
    clone.commit()
    assert clone.refusals() == ["the translations are not complete, or not compiled"]


LONG: dict[str, tuple[Change, str]] = {
    "no target docs": (
        lambda clone: clone.write("Makefile", "all:\n"),
        "the Makefile has no target docs",
    ),
    "docs that do not build": (
        lambda clone: clone.write("docs/broken.md", ""),
        "the docs do not build",
    ),
    "a gate that fails": (lambda clone: clone.write("broken", ""), r"\.ci/run does not pass"),
    "no wheel": (
        lambda clone: clone.change("pyproject.toml", 'license = "MIT"', 'license = "None such"'),
        "wheel and sdist cannot be built",
    ),
    "no description": (
        lambda clone: clone.change("pyproject.toml", 'readme = "README.md"\n', ""),
        "twine finds a fault",
    ),
    "a file that the sdist leaves out": (
        lambda clone: clone.write("NOTES.md", ""),
        r"the sdist lacks NOTES\.md",
    ),
    "a gate that writes into the tree": (
        lambda clone: clone.write(".ci/run", "echo >left\n"),
        r"the tree is no longer clean: \?\? left",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), LONG.values(), ids=list(LONG))
def test_what_takes_long_to_see_is_refused(
    clone: Repository, change: Change, sentence: str
) -> None:
    change(without_the_check_of_translations(clone))
    clone.commit()
    (said,) = clone.refusals()
    assert re.fullmatch(sentence, said)
    assert not (clone.path / "dist").exists()


def test_a_gate_that_passed_on_another_commit_is_refused(clone: Repository) -> None:
    without_the_check_of_translations(clone).commit()
    before = clone.git("rev-parse", "HEAD~1")
    (said,) = clone.refusals("--gate-passed", before)
    assert said == f"the gate passed on {before}, and this is {clone.git('rev-parse', 'HEAD')}"


def test_the_date_is_set_once(clone: Repository) -> None:
    clone.change("CHANGELOG.md", f"({today()})", "(not released)")
    done = clone.release("--set-date")
    assert done.returncode == 0, done.stderr
    text = (clone.path / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## {version(clone)} ({today()})\n" in text
    (said,) = clone.refusals("--set-date")
    assert said == f'CHANGELOG.md has no section "{version(clone)} (not released)"'
