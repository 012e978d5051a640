"""Answers of the API, kept until they are sent so that a fault can still change them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from payments_pages.sandbox.payloads import Payload, encode

__all__ = ["JSON", "Answer", "reason_phrase"]

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer: its status, its JSON or, if `raw` is given, exactly these bytes."""

    status: int = 200
    payload: Payload | None = None
    raw: bytes | None = None
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """Return the bytes to send."""
        if self.raw is not None:
            return self.raw
        return b"" if self.payload is None else encode(self.payload)

    @property
    def status_line(self) -> str:
        """Return the status with its phrase, as WSGI wants it."""
        return f"{self.status} {reason_phrase(self.status)}"

    def header_list(self, length: int) -> list[tuple[str, str]]:
        """List the headers of an answer whose body has this many bytes.

        `headers` win, so that a fault can lie about the type or the length.
        """
        usual = {"Content-Type": self.content_type, "Content-Length": str(length)}
        return list({**usual, **self.headers}.items())


def reason_phrase(status: int) -> str:
    """Name a status, also one that HTTP does not know."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
