"""Make the peers' environment, once: they bring a Django and dependencies of their own."""

import subprocess
import sys
from pathlib import Path

from tests.benchmarks.callbacks.servers import ROOT

__all__ = ["peers_python", "peers_versions"]

FOLDER = ROOT / ".cache" / "bench" / "peers"
WANTED = ROOT / "tests" / "benchmarks" / "peers" / "requirements.txt"


def peers_python() -> tuple[str, str]:
    """Return the Python that has the peers, or "" and why it could not be made."""
    python, stamp = FOLDER / "bin" / "python", FOLDER / "installed"
    import django

    ours = f"Django=={django.__version__}"
    wanted = f"{WANTED.read_text()}{ours}\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python), ""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    more = [ours, *_same("gunicorn", "psycopg", "requests", "urllib3")]
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "-r", WANTED, *more, "psycopg[binary]"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return "", done.stderr.strip().splitlines()[-1][:200]
    stamp.write_text(wanted)
    return str(python), ""


def peers_versions() -> list[str]:
    """Return the peers and their versions."""
    lines = Path(WANTED).read_text().splitlines()
    return [line.replace("==", " ") for line in lines if line and not line.startswith("#")]


def _same(*packages: str) -> list[str]:
    from importlib.metadata import version

    return [f"{package}=={version(package)}" for package in packages]
