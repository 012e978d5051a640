"""The HTTP responses that we accept: no redirect, and no body beyond a size."""

import zlib
from dataclasses import dataclass, field
from typing import Final

import requests

from payments_pages.exceptions import InvalidResponse

__all__ = ["Response", "read_response"]

PIECE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response: status, the two headers that we use, and the decoded body."""

    status: int
    content_type: str = ""
    retry_after: str = ""
    body: bytes = field(default=b"", repr=False)


def read_response(response: requests.Response, size_limit: int) -> Response | InvalidResponse:
    """Read a streamed response. An error is returned, not raised: it must not carry another one.

    Refused are redirects, because their body would be believed, and bodies that are larger than
    `size_limit` bytes when decoded, or have another encoding than gzip.
    """
    status = response.status_code
    if 300 <= status < 400:
        return InvalidResponse("The service answers with a redirect.", status=status)
    body = _body(response, size_limit)
    if body is None:
        return InvalidResponse("The answer is too large or compressed in no way we asked for.")
    headers = response.headers
    return Response(status, headers.get("Content-Type", ""), headers.get("Retry-After", ""), body)


def _body(response: requests.Response, limit: int) -> bytes | None:
    """Read the body in pieces; None if, decoded, it is larger than `limit` bytes."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    declared = response.headers.get("Content-Length", "")
    if encoding not in ("identity", "gzip") or (declared.isdigit() and int(declared) > limit):
        return None
    expander = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    pieces: list[bytes] = []
    size = 0
    while piece := response.raw.read(PIECE, decode_content=False):
        part = expander.decompress(piece, limit + 1 - size) if expander else piece
        size += len(part)
        if size > limit:
            return None
        pieces.append(part)
    return b"".join(pieces)
