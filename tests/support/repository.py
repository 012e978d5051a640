"""Which files belong to the repository, whether or not git knows it."""

import subprocess
from pathlib import Path

__all__ = ["ROOT", "files_of_the_repository"]

ROOT = Path(__file__).resolve().parent.parent.parent
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
