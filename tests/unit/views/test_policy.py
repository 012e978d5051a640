"""A site with a content security policy of its own keeps it on our pages (docs/cases.md D06)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from payments_pages.sandbox import Sandbox
from tests.support.payer_pages import Document, show

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("tea_box")]

HEADER = "Content-Security-Policy"
HERE = "tests.unit.views.test_policy"


class LazyNonce(SimpleLazyObject):
    """A nonce that is false until it is read, as Django's."""

    made = False

    def __init__(self) -> None:
        super().__init__(self._make)

    def _make(self) -> str:
        LazyNonce.made = True
        return "n0nce"

    def __bool__(self) -> bool:
        return LazyNonce.made


class ContentSecurityPolicyMiddleware:
    """The part of the usual middlewares that matters: a header only where there is none."""

    attribute = "_csp_nonce"

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        LazyNonce.made = False
        setattr(request, self.attribute, LazyNonce())
        response = self.get_response(request)
        nonce = " 'nonce-n0nce'" if LazyNonce.made else ""
        response.headers.setdefault(HEADER, f"script-src 'strict-dynamic'{nonce}")
        return response


class CSPMiddleware(ContentSecurityPolicyMiddleware):
    attribute = "csp_nonce"


@pytest.mark.parametrize("name", ["ContentSecurityPolicyMiddleware", "CSPMiddleware"])
def test_d06_the_sites_policy_is_kept_and_its_nonce_is_on_what_we_load(
    sandbox: Sandbox, settings: Any, name: str
) -> None:
    settings.MIDDLEWARE = [f"{HERE}.{name}", *settings.MIDDLEWARE]
    response = show("paid", sandbox)
    assert response.headers[HEADER] == "script-src 'strict-dynamic' 'nonce-n0nce'"
    document = Document(response)
    sheets = [link for link in document.all("link") if link["rel"] == "stylesheet"]
    loaded = [*document.all("script"), *sheets]
    assert [element["nonce"] for element in loaded] == ["n0nce", "n0nce"]


def test_without_a_policy_of_the_site_ours_is_there_and_no_nonce(sandbox: Sandbox) -> None:
    response = show("paid", sandbox)
    assert response.headers[HEADER].startswith("default-src 'none'; style-src 'self';")
    assert "nonce" not in response.content.decode()


def test_result_csp_leaves_the_policy_to_the_site(sandbox: Sandbox, configure: Any) -> None:
    configure(RESULT_CSP=False)
    assert HEADER not in show("paid", sandbox).headers
