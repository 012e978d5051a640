import stat
from pathlib import Path

import pytest

from example_project.databases import database
from example_project.secret_key import machine_secret_key


def test_without_an_address_it_is_sqlite_that_takes_its_lock_at_the_start(tmp_path: Path) -> None:
    config = database("", tmp_path / "shop.sqlite3")
    assert config["NAME"] == str(tmp_path / "shop.sqlite3")
    assert config["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert config["OPTIONS"]["timeout"] == 20
    assert "journal_mode=WAL" in config["OPTIONS"]["init_command"]


@pytest.mark.parametrize("scheme", ["mysql", "mariadb"])
def test_mysql_and_mariadb_speak_all_of_unicode(scheme: str, tmp_path: Path) -> None:
    config = database(f"{scheme}://root@127.0.0.1:3306/x", tmp_path)
    assert config["ENGINE"] == "django.db.backends.mysql"
    assert config["OPTIONS"]["charset"] == "utf8mb4"
    assert (config["USER"], config["PORT"], config["NAME"]) == ("root", 3306, "x")


def test_postgresql_keeps_the_options_of_its_address(tmp_path: Path) -> None:
    config = database("postgres://postgres@127.0.0.1:5432/x?sslmode=require", tmp_path)
    assert config["ENGINE"] == "django.db.backends.postgresql"
    assert config["OPTIONS"] == {"sslmode": "require"}


def test_a_machines_secret_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"
    key = machine_secret_key(path)
    assert len(key) >= 50
    assert machine_secret_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret_key"]


def test_two_machines_have_two_keys(tmp_path: Path) -> None:
    assert machine_secret_key(tmp_path / "a") != machine_secret_key(tmp_path / "b")
