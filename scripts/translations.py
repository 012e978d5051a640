"""Check the message catalogues: complete, well-formed, and compiled from what is there.

Needs GNU gettext. Without catalogues there is nothing to check.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def faults(po: Path) -> list[str]:
    """Return what is wrong with one catalogue and its compiled twin, in words."""
    with tempfile.TemporaryDirectory() as directory:
        fresh = Path(directory) / "fresh.mo"
        result = _gettext("msgfmt", "--check", "--statistics", f"--output-file={fresh}", str(po))
        if result.returncode:
            return [result.stderr.strip()]
        found = []
        # "12 translated messages, 1 fuzzy translation, 3 untranslated messages."
        if "fuzzy" in result.stderr or "untranslated" in result.stderr:
            found.append(result.stderr.strip())
        committed = po.with_suffix(".mo")
        if not committed.exists():
            found.append(f"{committed.name} is missing: run manage.py compilemessages")
        elif _gettext("msgunfmt", str(committed)).stdout != _gettext("msgunfmt", str(fresh)).stdout:
            found.append(f"{committed.name} is not what {po.name} says: run compilemessages")
    return found


def _gettext(*command: str) -> "subprocess.CompletedProcess[str]":
    # LC_ALL: the statistics are read, so they must come in English.
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def main() -> int:
    """Check all catalogues; return 1 if any has a fault."""
    catalogues = sorted(
        po
        for package in ("payments_pages", "example_project")
        for po in (ROOT / package).rglob("locale/*/LC_MESSAGES/*.po")
    )
    if not catalogues:
        print("no translations yet")
        return 0
    if shutil.which("msgfmt") is None:
        print("GNU gettext is missing: install the package `gettext`.", file=sys.stderr)
        return 1
    bad = False
    for po in catalogues:
        for fault in faults(po):
            bad = True
            print(f"{po.relative_to(ROOT)}: {fault}", file=sys.stderr)
    print(f"{len(catalogues)} catalogues checked")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
