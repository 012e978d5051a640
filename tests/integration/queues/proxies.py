"""Stand between a door and its broker, to let the broker freeze with the connection open."""

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType

__all__ = ["FreezingProxy"]

SIZE = 65536


class FreezingProxy:
    """Hand bytes on to a broker until told to freeze: then everything stays open, and silent.

    What a broker does whose machine is paused, whose disk is full, or that a firewall forgot.
    Connections that come later are taken, as the kernel of such a machine takes them.
    """

    def __init__(self, port: int) -> None:
        self._broker = ("127.0.0.1", port)
        self._frozen = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.swallowed = 0
        """Bytes that came to a frozen one and were not handed on."""

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def freeze(self) -> None:
        self._frozen.set()

    def __enter__(self) -> "FreezingProxy":
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Hang up on everybody. May be called again."""
        # Closing alone does not wake a thread that waits in accept() or recv().
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for one in self._sockets:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=30)
        for one in self._sockets:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                door, _address = self._listener.accept()
            except OSError:
                return
            broker = socket.create_connection(self._broker, timeout=30)
            broker.settimeout(None)
            with self._lock:
                self._sockets += [door, broker]
            self._start(self._carry, door, broker)
            self._start(self._carry, broker, door)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        """Hand on what comes; once frozen, read it and be silent, as a kernel is that buffers it."""
        with contextlib.suppress(OSError):
            while data := source.recv(SIZE):
                if self._frozen.is_set():
                    self.swallowed += len(data)
                else:
                    target.sendall(data)
            if not self._frozen.is_set():
                target.shutdown(socket.SHUT_WR)

    def _start(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
