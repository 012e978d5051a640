"""A flood from the service costs a bounded amount of memory, whatever it is packed in."""

import json
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator

import pytest

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
CHILD = """
import json, resource, sys
from payments_pages.client import Client, Limits
from payments_pages.exceptions import ServiceError

client = Client(secret_key="sk_test_suite", base_url=sys.argv[1],
    limits=Limits(deadline=20, read_timeout=20))
try:
    client.verify_transaction("WARM-UP")  # what a call costs anyway is loaded by then
except ServiceError:
    pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    client.verify_transaction("FLOOD")
except ServiceError as error:
    outcome = type(error).__name__
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"outcome": outcome, "kib": after - before}))
"""


def plain() -> Iterator[bytes]:
    """200 MiB, without saying beforehand how much it will be."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    for _piece in range(200):
        yield b" " * MIB


def announced() -> Iterator[bytes]:
    """200 MiB, announced."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    yield b"Content-Length: %d\r\n\r\n" % (200 * MIB)
    for _piece in range(200):
        yield b" " * MIB


def gzip_bomb() -> Iterator[bytes]:
    """300 MiB of blanks in some 300 KiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(packer.compress(b" " * MIB) for _piece in range(300)) + packer.flush()
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
    yield b"Content-Length: %d\r\n\r\n" % len(body)
    yield body


def serve(flood: Callable[[], Iterator[bytes]], listener: socket.socket) -> None:
    """Refuse the warm-up, and flood whoever asks next."""
    refusal = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    while True:
        try:
            peer, _address = listener.accept()
        except OSError:
            return
        with peer:
            request = peer.recv(65536)
            try:
                for piece in flood() if b"/FLOOD" in request else [refusal]:
                    peer.sendall(piece)
            except OSError:
                continue  # the client has had enough


@pytest.mark.parametrize("flood", [plain, announced, gzip_bomb])
def test_a_flood_costs_less_than_40_mib(flood: Callable[[], Iterator[bytes]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(flood, listener), daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        done = subprocess.run(
            [sys.executable, "-c", CHILD, address], capture_output=True, text=True, check=True
        )
        listener.shutdown(socket.SHUT_RDWR)
    measured = json.loads(done.stdout)
    assert measured["outcome"] == "InvalidResponse"
    assert measured["kib"] < 40 * 1024
