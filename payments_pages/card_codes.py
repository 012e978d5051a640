"""Reusable card codes, which nobody sees who does not ask for them."""

from typing import Any, Final, NoReturn, Self

__all__ = ["CODE_LENGTH", "CardCode"]

CODE_LENGTH: Final = 128
"""Characters of the longest code that is kept."""


class CardCode:
    """The reusable code of a card. By it the card can be charged, so it shows itself nowhere.

    It has no text form but `reveal()`: `repr`, `str` and formats hide it, it has no `__dict__`, and
    it cannot be pickled. So it is in no log, in no error, and in no report of a frame's variables.
    """

    __slots__ = ("_code",)

    def __init__(self, code: str) -> None:
        self._code = code

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """Hide a code that came from outside; None if it cannot be kept.

        It can if it is printable ASCII, not empty, and no longer than `CODE_LENGTH`.
        """
        if type(value) is not str or not 0 < len(value) <= CODE_LENGTH:
            return None
        return cls(value) if value.isascii() and value.isprintable() else None

    def __repr__(self) -> str:
        return "<CardCode>"

    def __eq__(self, other: object) -> bool:
        return self._code == other._code if isinstance(other, CardCode) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._code)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("A card's code is not pickled.")

    def reveal(self) -> str:
        """Return the code itself. Do not give it a name: frames keep their variables."""
        return self._code
