"""A second demo on the same files is told where the first one runs."""

import io
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from example_project.demo.addresses import Addresses, sqlite_url
from example_project.demo.storage import BusyError, Storage
from example_project.shop.management.commands import demo

TABLE = "  Shop      http://127.0.0.1:8000/\n    admin     pass-word"


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """A demo that does not start its processes: it ends where it would."""
    storage = Storage(tmp_path / "var")
    monkeypatch.setattr(demo, "_directory", lambda _addresses, _server: storage.directory)
    for name, value in Addresses().environment(sqlite_url(storage.database)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DEMO_PORT", raising=False)
    return storage


def test_a_second_start_prints_the_table_of_the_running_demo(storage: Storage) -> None:
    out = io.StringIO()
    with storage.locked(), storage.announced(TABLE):
        call_command("demo", stdout=out)
    assert out.getvalue() == f"The demo is running already.\n{TABLE}\n"


@pytest.mark.parametrize("options", [{"fresh": True}, {}])
def test_what_cannot_be_done_while_it_runs_is_refused(
    storage: Storage, options: dict[str, Any]
) -> None:
    """Files in use are not set aside; and a demo that still starts has no table to show."""
    with storage.locked():
        if not options:
            refused = pytest.raises(CommandError, match="Another demo runs")
            with refused:
                call_command("demo", **options)
            return
        with storage.announced(TABLE), pytest.raises(CommandError, match="Another demo runs"):
            call_command("demo", **options)


def test_the_table_holds_passwords_and_goes_with_its_demo(storage: Storage) -> None:
    with storage.locked():
        with storage.announced(TABLE):
            (file,) = storage.directory.glob("running*")
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert not file.exists()
    file.write_text("of a demo that was killed")
    with storage.locked(), pytest.raises(BusyError) as busy, storage.locked():
        pass
    assert busy.value.summary == ""
