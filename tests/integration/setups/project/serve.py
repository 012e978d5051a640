"""Be one site: listen, prepare, serve until told to end.

`python -m tests.integration.setups.project.serve`; the environment names row, folder and service.
The port is taken before the settings are read, for they name this site's own address.
"""

import os
import socket
import sys
from pathlib import Path

import django
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

from tests.integration.setups.rows import find
from tests.integration.setups.setup import Setup

HOST = "127.0.0.1"


def main() -> None:
    """Serve with the server that the row names."""
    setup, folder = find(os.environ["SETUP"]), Path(os.environ["SETUP_FOLDER"])
    {"django": _django, "uvicorn": _uvicorn, "gunicorn": _gunicorn}[setup.server](setup, folder)


def _prepare(folder: Path, port: int = 0) -> None:
    from tests.integration.setups.project.prepare import prepare

    os.environ.setdefault("SETUP_ORIGIN", f"http://{HOST}:{port}")
    django.setup()
    prepare()
    # By a rename, so that whoever waits for the file never reads half of it.
    (folder / "port.new").write_text(str(port))
    (folder / "port.new").rename(folder / "port")


def _django(setup: Setup, folder: Path) -> None:
    server = ThreadedWSGIServer((HOST, 0), WSGIRequestHandler)
    server.daemon_threads = True
    _prepare(folder, server.server_port)
    from tests.integration.setups.project.wsgi import application

    server.set_app(application)
    server.serve_forever()


def _uvicorn(setup: Setup, folder: Path) -> None:
    import uvicorn

    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen(256)
        _prepare(folder, listener.getsockname()[1])
        from tests.integration.setups.project.asgi import application

        config = uvicorn.Config(application, log_level="info", root_path=setup.prefix)
        uvicorn.Server(config).run(sockets=[listener])


def _gunicorn(setup: Setup, folder: Path) -> None:
    _prepare(folder)
    # Newer releases keep a socket of their own below the home directory: one for each site.
    sock = Path(os.environ["SETUP_SOCKET"])
    os.environ["HOME"] = str(sock.parent)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    where = f"unix:{sock}"
    module = "tests.integration.setups.project.wsgi"
    os.execv(
        sys.executable,
        [sys.executable, "-m", "gunicorn", "--bind", where, "--threads=4", module],
    )


if __name__ == "__main__":
    main()
