"""Texts of others, made safe for logs, errors and staff: no secrets, no payers, no line breaks."""

import re
import traceback
from pathlib import Path
from typing import Final

__all__ = ["REMOVED", "place_of", "places_of", "redact"]

REMOVED: Final = "[removed]"
MIN_SECRET: Final = 6

# Line breaks forge log lines, bidi controls turn them round, surrogates cannot be written.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SECRETS = re.compile(
    r"[sp]k_(?:test|live)_[\w-]+|\b[sp]k_[\w-]+"  # secret and public keys
    r"|\bbearer\s+\S+"
    r"|AUTH_\w+"  # reusable card codes
    r"|(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)",  # card numbers
    re.IGNORECASE,
)


def redact(text: str, *secrets: str, limit: int = 500) -> str:
    """Remove secrets, keys, card codes and numbers, e-mail addresses and control characters.

    `secrets` are further texts to remove. One shorter than `MIN_SECRET` characters is left alone:
    it would be found inside ordinary words.
    White space is reduced to single blanks, so the result is one line. The cut to `limit`
    characters comes last: half a secret would not be recognised.
    """
    line = " ".join(_CONTROL.sub(" ", text).split())
    for secret in sorted((secret.strip() for secret in secrets), key=len, reverse=True):
        if len(secret) >= MIN_SECRET:
            line = line.replace(secret, REMOVED)
    line = _SECRETS.sub(REMOVED, line)
    # A word with an @ is removed whole: a pattern for addresses would be slow on long text.
    line = " ".join(REMOVED if "@" in word.strip("@") else word for word in line.split(" "))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def place_of(error: BaseException) -> str:
    """Return an error's class and where it was raised, without its text, which may quote a payer.

    For example `IntegrityError at audit/signals.py:17 in write_line`.
    """
    places = places_of(error)
    return f"{type(error).__name__} at {places[-1]}" if places else type(error).__name__


def places_of(error: BaseException, *, at_most: int = 12) -> list[str]:
    """Return the frames of a traceback as `file:line in name`, the innermost one last.

    Of more than `at_most` the first third and the last two thirds are kept, with "…" between.
    """
    places = [
        f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    if len(places) <= at_most:
        return places
    first = at_most // 3
    return [*places[:first], "…", *places[first - at_most :]]
