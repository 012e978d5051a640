"""Which files belong to the repository, whether or not git knows it."""

import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["BUILD", "ROOT", "files_of_the_repository"]

ROOT = Path(__file__).resolve().parent.parent.parent
# uv gets the tools of a build in a tenth of the time.
BUILD = (sys.executable, "-m", "build", *(("--installer", "uv") if shutil.which("uv") else ()))
# What tools and targets make; an unpacked sdist has PKG-INFO beside them.
_MADE = {".venv", ".cache", ".hypothesis", ".pytest_cache", "PKG-INFO", "dist", "var"}


def files_of_the_repository() -> set[str]:
    """Return the files that git has or would take; in an unpacked sdist, all but what was made."""
    if (ROOT / ".git").exists():
        command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}
    files = {path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()}
    return {
        path.as_posix()
        for path in files
        if path.parts[0] not in _MADE and "__pycache__" not in path.parts
    }
