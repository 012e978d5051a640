"""Write what was about to happen to a file that no rollback and no kill takes back."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Trace"]


class Trace:
    """Lines of words in a file. Each line is one append, so that lines of two processes do not mix."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def say(self, *words: object) -> None:
        """Append a line, at once and for good."""
        line = " ".join(str(word).replace(" ", "_").replace("\n", "_") for word in words)
        os.write(self._file, f"{line}\n".encode())

    def lines(self) -> Iterator[list[str]]:
        """Read all lines, as lists of words."""
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                yield line.split()
