"""The findings from the history of a run."""

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Findings"]


@dataclass(slots=True)
class Findings:
    """The findings. `lost`, `doubled`, `broken` and `errors` must be empty.

    `lost`: accepted, or told as delivered, and not given; or named by a signed notice, and not
    asked about within two sweeps. `doubled`: given twice by an atomic
    handler, or under two keys by an external one; both by reference, with what is wrong.
    `broken`: any other rule that was broken. `errors` counts what came out of the path by its
    class, `words` holds the first one's.
    `signed` counts the references that a notice named, `early` those of them that verify did not
    confirm by then.
    """

    references: int = 0
    signed: int = 0
    early: int = 0
    accepted: int = 0
    delivered: int = 0
    calls: int = 0
    hung_up: int = 0
    cut_off: int = 0
    fenced: int = 0
    repeated: int = 0
    lost: dict[str, str] = field(default_factory=dict)
    doubled: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)

    def count_error(self, name: str, words: str) -> None:
        """Count an error that the path raised, and keep the text of the first one."""
        self.errors[name] += 1
        self.words.setdefault(name, words)
