"""Sign what schemathesis sends to the webhook, so that bodies get past the signature."""

import hmac

import requests
import schemathesis
from requests.auth import AuthBase

HEADER = "X-Lahza-Signature"
SECRET = b"sk_test_fuzz"


class Signature(AuthBase):
    """Sign the bytes that go out."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header, as the service would."""
        body = request.body or b""
        raw = body.encode() if isinstance(body, str) else body
        request.headers[HEADER] = hmac.new(SECRET, raw, "sha256").hexdigest()
        return request


schemathesis.auth.set_from_requests(Signature()).apply_to(path="/webhook/")
