"""The progress of a long command, on a terminal only."""

from django.core.management.base import OutputWrapper

__all__ = ["Progress"]


class Progress:
    """One line of a terminal that is rewritten; nothing is written into a pipe or a log."""

    def __init__(self, stream: OutputWrapper) -> None:
        self._stream = stream
        self._shown = stream.isatty()

    def show(self, text: str) -> None:
        """Replace the line by `text`."""
        if self._shown:
            self._stream.write(f"\r\x1b[K{text}", ending="")
            self._stream.flush()

    def clear(self) -> None:
        """Remove the line before the summary."""
        self.show("")
