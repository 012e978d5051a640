"""Run a management command at a signal: get ready, say so, wait for a line, go.

`python -m example_project.demo.starter payments_pages_confirm REFERENCE`: starting Python and
Django takes far longer than confirming, so processes that are to meet must wait for each other.
"""

import sys

import django
from django.core.management import execute_from_command_line

__all__ = ["READY"]

READY = "ready"


def main() -> None:
    """Prepare everything, then run the command that the arguments name."""
    django.setup()
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    sys.stdin.readline()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
