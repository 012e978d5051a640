"""Show how far a long command is, on a terminal only."""

from django.core.management.base import OutputWrapper

__all__ = ["Progress"]


class Progress:
    """Rewrite one line of a terminal; write nothing into a pipe or a log."""

    def __init__(self, stream: OutputWrapper) -> None:
        self._stream = stream
        self._shown = stream.isatty()

    def show(self, text: str) -> None:
        """Replace the line by `text`."""
        if self._shown:
            self._stream.write(f"\r\x1b[K{text}", ending="")
            self._stream.flush()

    def clear(self) -> None:
        """Take the line away, for the summary."""
        self.show("")
