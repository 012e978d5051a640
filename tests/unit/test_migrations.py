"""Released migrations are frozen: their files stay as they were, to the byte.

A database that has run a migration never runs it again. If its file is changed afterwards, old
databases and new ones have different tables under the same name, and nothing tells so. Whoever needs
other tables writes a new migration.

`scripts/migrations.sha256` has the hash of each migration, in the format of `sha256sum`. A line may
change, or go, only while no released version has that migration. `scripts/release` adds none: it
refuses a release while a migration has no line.
"""

import hashlib
import shutil
from pathlib import Path

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader

ROOT = Path(__file__).resolve().parent.parent.parent
MIGRATIONS = ROOT / "payments_pages" / "migrations"
LINES = (ROOT / "scripts" / "migrations.sha256").read_text("utf-8").splitlines()
FROZEN = {name: digest for digest, name in (line.split() for line in LINES)}
ADDS = (
    migrations.CreateModel,
    migrations.AddIndex,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
)
# A migration that does something else, and why old code runs on its tables all the same: an
# `AlterField` that changes only what people read; a column that no code has used since a version.
REVIEWED: dict[str, str] = {}


def changed(folder: Path) -> list[str]:
    """Return the frozen migrations that are gone, or have another content."""
    return [
        name
        for name, digest in FROZEN.items()
        if not (folder / name).exists()
        or hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest
    ]


def test_a_frozen_migration_is_never_changed() -> None:
    assert FROZEN
    assert changed(MIGRATIONS) == []


@pytest.mark.parametrize("harm", ["edited", "gone"])
def test_a_migration_that_is_changed_is_found(tmp_path: Path, harm: str) -> None:
    shutil.copytree(MIGRATIONS, tmp_path, dirs_exist_ok=True)
    first = tmp_path / "0001_initial.py"
    if harm == "edited":
        first.write_text(first.read_text("utf-8").replace("max_length=64", "max_length=65", 1))
    else:
        first.unlink()
    assert changed(tmp_path) == ["0001_initial.py"]


def test_the_migrations_are_one_line_that_begins_with_what_is_frozen() -> None:
    """Two last migrations would need a merge by the merchant; one in between would not run."""
    loader = MigrationLoader(None)
    assert len(loader.graph.leaf_nodes("payments_pages")) == 1
    names = sorted(name for app, name in loader.disk_migrations if app == "payments_pages")
    assert [f"{name}.py" for name in names][: len(FROZEN)] == sorted(FROZEN)


def breaks_old_code(operation: migrations.operations.base.Operation) -> bool:
    """Tell whether the code of the version before fails on the tables after the operation."""
    if isinstance(operation, migrations.AddField):
        field = operation.field
        return not field.null and field.db_default is models.NOT_PROVIDED
    return not isinstance(operation, ADDS)


def test_old_code_runs_on_the_tables_of_a_newer_version() -> None:
    """`docs/upgrading.md` says: migrate first, restart one process after the other."""
    loader = MigrationLoader(None)
    bad = [
        f"{name}: {operation.describe()}"
        for (app, name), migration in loader.disk_migrations.items()
        if app == "payments_pages" and not migration.initial and name not in REVIEWED
        for operation in migration.operations
        if breaks_old_code(operation)
    ]
    assert bad == []


NUMBER = models.IntegerField


@pytest.mark.parametrize(
    ("operation", "breaks"),
    [
        (migrations.AddField("event", "more", NUMBER(null=True)), False),
        (migrations.AddField("event", "more", NUMBER(db_default=0)), False),
        # Django takes the default out of the table again, and old code inserts rows without it.
        (migrations.AddField("event", "more", NUMBER(default=0)), True),
        (migrations.AddIndex("event", models.Index(fields=["kind"], name="more")), False),
        (
            migrations.AddConstraint(
                "event",
                models.CheckConstraint(condition=models.Q(kind="x"), name="more"),
            ),
            True,
        ),
        (migrations.RemoveField("event", "kind"), True),
        (migrations.RenameField("event", "kind", "what"), True),
        (migrations.AlterField("event", "kind", NUMBER()), True),
        (migrations.DeleteModel("event"), True),
    ],
    ids=lambda value: value.describe() if hasattr(value, "describe") else str(value),
)
def test_what_breaks_old_code_is_found(
    operation: migrations.operations.base.Operation, breaks: bool
) -> None:
    assert breaks_old_code(operation) is breaks
