"""Signatures of webhooks: hex HMAC over the bytes of the body as they came.

The interface shows no signature scheme; header and algorithm are settings (docs/service.md, only seen: SHA-256
at this service, SHA-512 at its relative, and samples that mix the two).
"""

import hmac
from collections.abc import Iterable

__all__ = ["ALGORITHMS", "is_signed", "sign"]

ALGORITHMS = frozenset({"sha256", "sha512"})


def sign(body: bytes, secret: str, algorithm: str) -> str:
    """Return the lower-case hex HMAC of `body`; `algorithm` is one of `ALGORITHMS`."""
    return hmac.new(secret.encode(), body, algorithm).hexdigest()


def is_signed(body: bytes, signature: str, secrets: Iterable[str], algorithm: str) -> bool:
    """Tell whether one of the secrets made this signature over exactly these bytes.

    Several secrets allow a rotation (all are tried, in constant time each). Upper-case hex is
    accepted; a prefix such as `sha256=` is not (docs/cases.md C31). No secret, a blank one or a blank
    signature: False. The body is never parsed or written anew (docs/cases.md C29).
    """
    # Bytes: compare_digest raises on text that is not ASCII, and a header may hold anything.
    received = signature.strip().lower().encode("utf-8", "surrogatepass")
    matches = [
        hmac.compare_digest(sign(body, secret, algorithm).encode(), received)
        for secret in secrets
        if secret
    ]
    return any(matches)
