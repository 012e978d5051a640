"""Run Django's development server with room for a crowd at its door.

`python -m example_project.demo.server runserver --noreload 127.0.0.1:8000`: its own queue holds
ten connections that nobody has taken yet; whoever comes eleventh at the same moment is cut off.
"""

import sys

import django
from django.core.management import execute_from_command_line
from django.core.servers.basehttp import WSGIServer

QUEUE = 256


def main() -> None:
    """Widen the queue, then run the command that the arguments name."""
    WSGIServer.request_queue_size = QUEUE
    django.setup()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
