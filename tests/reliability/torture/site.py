"""One process of a web server: the package's own doors, behind a socket that all processes share."""

import socket

from django.conf import settings
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

__all__ = ["listen", "serve"]

WAITING = 128
"""Connections that wait while every process is dead or stands still."""


def listen() -> socket.socket:
    """Open the socket, on a free port of 127.0.0.1; the processes inherit it."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=WAITING)
    listener.set_inheritable(True)
    return listener


def serve() -> None:
    """Answer requests until killed, each connection in a thread of its own."""
    listener = socket.socket(fileno=settings.RUN["listener"])
    server = ThreadedWSGIServer(listener.getsockname(), WSGIRequestHandler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_name, server.server_port = listener.getsockname()
    server.setup_environ()
    server.set_app(get_wsgi_application())
    server.serve_forever()
