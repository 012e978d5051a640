"""Answer verify calls as the sandbox does, byte for byte but for the reference, and much faster.

    python -m tests.benchmarks.callbacks.answerer < verify-answer

The sandbox takes longer to answer than a site to ask; here the site is what is measured. One
answer of a sandbox, with `REFERENCE` for its reference, comes in on standard input; the port goes
out as the first line. `/counts` tells, as JSON, how often each reference was asked about, and how
many connections were made, since the last time it was asked. After a request for `/hang` verify
calls are counted and get no answer.
"""

import asyncio
import json
import sys
from collections import Counter
from typing import Final

__all__ = ["PLACE", "main"]

PLACE: Final = b"REFERENCE"
END: Final = b"\r\n\r\n"

_calls: Counter[str] = Counter()
_connections = 0
_hangs = False


class Answerer(asyncio.Protocol):
    """Answer every request on one connection, which stays open."""

    answer: bytes = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it once it asks about a reference."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # a stream has no other
        self._read = b""
        self._counted = False

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self._read += data
        while END in self._read:
            head, self._read = self._read.split(END, 1)
            path = head.split(b" ", 2)[1].decode()
            if path == "/counts":
                self._transport.write(_response(_counts()))
            elif path == "/hang":
                self._hang()
            elif path.startswith("/v1/"):
                self._transport.write(_response(_payment_intent(path)))
            else:
                self._verify(path.rpartition("/")[2])

    def _verify(self, reference: str) -> None:
        global _connections  # noqa: PLW0603 - one process, one count
        _connections += not self._counted
        self._counted = True
        _calls[reference] += 1
        if not _hangs:
            self._transport.write(_response(self.answer.replace(PLACE, reference.encode())))

    def _hang(self) -> None:
        global _hangs  # noqa: PLW0603 - one process, one state
        _hangs = True
        self._transport.write(_response(b"{}"))


def _response(body: bytes) -> bytes:
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


def _payment_intent(path: str) -> bytes:
    """Answer for the service that dj-stripe speaks to, in its words."""
    name = path.rpartition("/")[2].partition("?")[0]
    if "/account" in path:
        return json.dumps({"id": "acct_bench", "object": "account", "created": 1795831304}).encode()
    _calls[name] += 1
    found = {
        "id": name,
        "object": "payment_intent",
        "amount": 10000,
        "amount_capturable": 0,
        "amount_received": 10000,
        "capture_method": "automatic",
        "client_secret": "secret",
        "confirmation_method": "automatic",
        "created": 1795831304,
        "currency": "ils",
        "livemode": False,
        "metadata": {},
        "payment_method_types": ["card"],
        "status": "succeeded",
    }
    return json.dumps(found).encode()


def _counts() -> bytes:
    global _connections  # noqa: PLW0603 - as above
    found = {"calls": dict(_calls), "connections": _connections}
    _calls.clear()
    _connections = 0
    return json.dumps(found).encode()


async def _serve() -> None:
    Answerer.answer = sys.stdin.buffer.read()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answerer, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    """Serve until killed."""
    asyncio.run(_serve())


if __name__ == "__main__":
    main()
