"""The start page: what a person on the same machine finds, and nobody else."""

from urllib.parse import urljoin

import pytest
import requests

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.overview import LATEST
from tests.unit.sandbox.payer import Page


def test_it_leads_to_the_pages_that_can_be_paid(sandbox: Sandbox, plain: requests.Session) -> None:
    sandbox.add_page(slug="شاي/1", name="Tea box", amount=12050)
    sandbox.add_page(slug="gift", name="Gift", amount=None)
    sandbox.add_page(slug="shut", name="Shut", amount=100, active=False)
    answer = plain.get(sandbox.home_url)
    assert "120.50\u00a0ILS" in answer.text
    assert "the payer chooses" in answer.text
    assert "switched off" in answer.text
    pages = [link for link in Page(answer.text).links if link.startswith("/pay/")]
    assert len(pages) == 2
    for link in Page(answer.text).links:
        assert plain.get(urljoin(sandbox.home_url, link)).status_code == 200


def test_it_shows_the_latest_payments_and_no_payer(
    sandbox: Sandbox, plain: requests.Session
) -> None:
    sandbox.add_page(slug="tea", amount=100)
    for number in range(LATEST + 2):
        sandbox.pay("tea", reference=f"R-{number:03}", email="rana@example.test")
    sandbox.set_transaction("R-010", amount="12.5", currency=None)
    text = plain.get(sandbox.home_url).text
    assert f"The latest {LATEST} of {LATEST + 2}." in text
    assert text.index("R-051") < text.index("R-002")
    assert "R-001" not in text
    assert "rana" not in text


def test_it_shows_the_faults_that_are_left(sandbox: Sandbox, plain: requests.Session) -> None:
    assert "answers as it should" in plain.get(sandbox.home_url).text
    sandbox.faults.add(operation="verify", kind="status", status=503, reference="A-1")
    sandbox.faults.add(kind="latency", seconds=0.0, times=2)
    text = plain.get(sandbox.home_url).text
    assert "verify A-1" in text
    assert "every call" in text
    assert "0 of 2" in text


def test_what_others_wrote_cannot_run(sandbox: Sandbox, plain: requests.Session) -> None:
    evil = "<script>alert(1)</script>"
    sandbox.add_page(slug=evil, name=evil, amount=1, currency=evil)
    sandbox.pay(evil, reference=evil)
    assert "script" not in Page(plain.get(sandbox.home_url).text).tags


@pytest.mark.parametrize("headers", [{"Host": "sandbox.example"}, {"Origin": "https://e.example"}])
def test_it_is_for_this_machine_alone(
    sandbox: Sandbox, plain: requests.Session, headers: dict[str, str]
) -> None:
    answer = plain.get(sandbox.home_url, headers=headers)
    assert answer.status_code == 403
    assert "<h2>" not in answer.text
    assert plain.post(sandbox.home_url).status_code == 405


def test_every_page_has_an_icon(sandbox: Sandbox, plain: requests.Session) -> None:
    for path in ("icon.svg", "favicon.ico"):
        answer = plain.get(sandbox.home_url + path)
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "image/svg+xml"
        assert answer.text.startswith("<svg")
