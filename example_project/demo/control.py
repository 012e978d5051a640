"""Steer the sandbox through its control API."""

from typing import Any

import requests

__all__ = ["Control"]

_TIMEOUT = 10


class Control:
    """Speak to the control API at `url`; what it refuses raises `requests.HTTPError`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        # A proxy or .netrc of this machine's user has no part in this.
        self._session.trust_env = False

    def get(self, path: str) -> Any:
        """Read something; return the JSON."""
        return self._ask("GET", path)

    def post(self, path: str, **body: Any) -> Any:
        """Send fields; return the JSON."""
        return self._ask("POST", path, json=body)

    def delete(self, path: str) -> Any:
        """Take something away; return the JSON."""
        return self._ask("DELETE", path)

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        answer = self._session.request(method, f"{self._url}/{path}", timeout=_TIMEOUT, **options)
        answer.raise_for_status()
        return answer.json()
