#!/usr/bin/env python
"""Run Django's commands on the example project."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Use the example's settings unless the environment names others."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
