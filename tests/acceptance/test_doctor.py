"""The transcript in `docs/doctor.md` is what the doctor says of the demo, healthy and broken."""

import os
import subprocess
import sys
from pathlib import Path

from tests.acceptance.doctor_transcript import FAULTS, PAGE, written

ROOT = Path(__file__).resolve().parent.parent.parent
OTHERS = {"DATABASE_URL", "DJANGO_SETTINGS_MODULE", "PYTHONPATH"}


def test_the_page_shows_what_the_doctor_says_today() -> None:
    done = subprocess.run(
        [sys.executable, "tests/acceptance/doctor_transcript.py"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in OTHERS},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    page = PAGE.read_text()
    assert page == written(page, done.stdout.splitlines())
    assert page.count("$ echo $?\n0\n") == 1
    assert page.count("$ echo $?\n1\n") == 1 + len(FAULTS)
