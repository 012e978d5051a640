"""The command that serves a sandbox."""

import json
import os
import signal
import subprocess
import sys
import threading
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.__main__ import main

pytestmark = pytest.mark.slow


def run(*arguments: str) -> "subprocess.Popen[str]":
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DJANGO_")}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "payments_pages.sandbox", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_without_django_until_it_is_told_to_stop(
    number: int, tmp_path: Path
) -> None:
    path = tmp_path / "state.json"
    process = run("--port", "0", "--secret-key", "sk_test_cli", "--currency", "JOD",
                  "--state", str(path), "--webhook-url", "http://127.0.0.1:1/")  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("Sandbox ready: API http://127.0.0.1:")
    assert "sk_test_cli" not in line
    base_url = line.split()[3].rstrip(",")
    headers = {"Authorization": "Bearer sk_test_cli"}
    answer = requests.post(f"{base_url}/page", json={"name": "Tea"}, headers=headers, timeout=10)
    assert answer.json()["data"]["currency"] == "JOD"
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "", "")
    assert json.loads(path.read_text(encoding="utf-8"))["pages"][0]["name"] == "Tea"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "shop.example"])
def test_the_command_refuses_to_be_open_to_others(host: str) -> None:
    out = StringIO()
    assert main(["--host", host, "--port", "0"], out) == 2
    assert "--allow-remote" in out.getvalue()


def test_the_command_tells_why_it_cannot_start(sandbox: Sandbox, tmp_path: Path) -> None:
    out = StringIO()
    assert main(["--port", str(urlsplit(sandbox.base_url).port)], out) == 1
    assert "in use" in out.getvalue()
    (tmp_path / "state.json").write_text("[]")
    assert main(["--port", "0", "--state", str(tmp_path / "state.json")], out) == 1
    assert "does not hold" in out.getvalue()


def test_the_command_gives_the_signals_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    ready = threading.Event()

    class Output(StringIO):
        def flush(self) -> None:
            ready.set()

    def stop() -> None:
        assert ready.wait(10)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    out = Output()
    assert main(["--port", "0"], out) == 0
    thread.join()
    assert out.getvalue().count("\n") == 1
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_command_may_be_open_if_meant() -> None:
    process = run("--host", "0.0.0.0", "--port", "0", "--allow-remote")
    assert process.stdout is not None
    assert "http://0.0.0.0:" in process.stdout.readline()
    process.terminate()
    process.communicate(timeout=10)
    assert process.returncode == 0
