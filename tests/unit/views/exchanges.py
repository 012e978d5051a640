"""Send real requests to the live site, and keep every word of the answer."""

from typing import Any

import requests

from tests.support.door_behaviour import Answer

__all__ = ["exchange"]


def exchange(method: str, url: str, **options: Any) -> tuple[Answer, requests.Response]:
    """Send one request by a connection of its own; redirects are followed for a GET alone."""
    with requests.Session() as session:
        session.trust_env = False
        response = session.request(
            method, url, timeout=30, **{"allow_redirects": method == "GET", **options}
        )
    steps = [*response.history, response]
    heads = "\n".join(f"{name}: {value}" for step in steps for name, value in step.headers.items())
    return Answer(response.status_code, f"{heads}\n\n{response.text}"), response
