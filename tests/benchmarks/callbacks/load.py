"""Be many browsers at once, with as little work of our own as can be: plain sockets, kept open."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Load", "Request", "rush", "together"]

END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """Be one request, ready to be sent."""

    path: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def encoded(self) -> bytes:
        """Return it as bytes."""
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body:
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join(lines).encode() + END + self.body


@dataclass(slots=True)
class Load:
    """Tell how a load went: the seconds of the whole, of each answer, and the answers by status."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def part(self, share: float) -> float:
        """Return the time in seconds below which this share of the answers came."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Line:
    """Keep one connection to a server, and open it anew when the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def ask(self, request: bytes) -> int:
        """Send a request, read the whole answer, return its status; 0 for none."""
        for _attempt in range(2):
            try:
                if self._socket is None:
                    self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
                    self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._socket.sendall(request)
                status = self._read(self._socket)
            except OSError:
                status = 0
            if status:
                return status
            self.close()
        return 0

    def _read(self, connection: socket.socket) -> int:
        read = b""
        while END not in read:
            piece = connection.recv(65536)
            if not piece:
                return 0
            read += piece
        head, body = read.split(END, 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _colon, value in (x.partition(":") for x in lines)
        }
        missing = int(headers.get("content-length", 0)) - len(body)
        while missing > 0:
            missing -= len(connection.recv(65536))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return int(lines[0].split()[1])

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def rush(port: int, requests: Sequence[Request], *, lines: int) -> Load:
    """Send all requests over so many lines, each the next when its answer has come."""
    waiting = iter([request.encoded() for request in requests])
    load, lock = Load(), threading.Lock()

    def run() -> None:
        line, times, statuses = Line(port), [], Counter[int]()
        while True:
            with lock:
                request = next(waiting, None)
            if request is None:
                break
            started = time.perf_counter()
            statuses[line.ask(request)] += 1
            times.append(time.perf_counter() - started)
        line.close()
        with lock:
            load.times += times
            load.statuses += statuses

    started = time.perf_counter()
    _all(run, lines)
    load.seconds = time.perf_counter() - started
    return load


def together(port: int, requests: Sequence[Request], *, times: int) -> Load:
    """Send each request so many times at the same moment, and the next when all have answers."""
    load, lock, barrier = Load(), threading.Lock(), threading.Barrier(times)
    encoded = [request.encoded() for request in requests]

    def run() -> None:
        line = Line(port)
        for request in encoded:
            barrier.wait()
            started = time.perf_counter()
            status = line.ask(request)
            with lock:
                load.times.append(time.perf_counter() - started)
                load.statuses[status] += 1
        line.close()

    started = time.perf_counter()
    _all(run, times)
    load.seconds = time.perf_counter() - started
    return load


def _all(run: object, count: int) -> None:
    threads = [threading.Thread(target=run) for _number in range(count)]  # type: ignore[arg-type]  # a thread drops what it returns
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
