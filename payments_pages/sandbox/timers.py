"""Waits and background work that end at once when the sandbox stops."""

import threading
from collections.abc import Callable

__all__ = ["Timers"]


class Timers:
    """Waits that a stopping sandbox ends, and daemon threads that it joins."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def wait(self, seconds: float) -> bool:
        """Sleep; return False, early, if the sandbox stops meanwhile."""
        return not self._stopping.wait(seconds)

    def after(self, seconds: float, work: Callable[[], object]) -> None:
        """Run `work` in a thread of its own after some seconds, unless stopped before."""

        def run() -> None:
            try:
                if self.wait(seconds):
                    work()
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, name="sandbox-timer", daemon=True)
        with self._lock:
            if self._stopping.is_set():
                return
            self._threads.add(thread)
            thread.start()

    def join(self, timeout: float) -> None:
        """Wait until the background work that runs now has ended, at most `timeout` each."""
        with self._lock:
            running = tuple(self._threads)
        for thread in running:
            thread.join(timeout)

    def stop(self) -> None:
        """End every wait, then the threads."""
        self._stopping.set()
        self.join(timeout=6)
