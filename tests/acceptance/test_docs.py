"""The pages in `docs/` are run, not read."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from django.test import Client
from django.urls import reverse

from example_project.shop.popup import content_policy
from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import ExpectedPayment, Fulfilment
from payments_pages.sandbox import Sandbox
from payments_pages.views.confirm import STATUSES

ROOT = Path(__file__).resolve().parent.parent.parent
POPUP = (ROOT / "docs" / "popup.md").read_text()
ORDER_PAGE = (ROOT / "example_project/shop/templates/shop/order.html").read_text()
SCRIPT = (ROOT / "payments_pages/static/payments_pages/popup.js").read_text()


def snippet(name: str, kind: str = "python") -> str:
    match = re.search(
        rf"<!-- snippet: {re.escape(name)} -->\n```{kind}\n(.*?)```", POPUP, re.DOTALL
    )
    assert match, f"the page has no snippet {name}"
    return match[1]


def block(kind: str) -> str:
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```", POPUP, re.DOTALL | re.MULTILINE)
    return str(text)


def run(name: str, **given: Any) -> dict[str, Any]:
    """Run a snippet and return what it defines."""
    names: dict[str, Any] = {**given}
    exec(compile(snippet(name), f"popup.md: {name}", "exec"), names)
    return names


class Rows(list[SimpleNamespace]):
    """Stand in for the manager of a merchant's model."""

    def create(self, **fields: Any) -> SimpleNamespace:
        self.append(SimpleNamespace(**fields))
        return self[-1]

    def get(self, **wanted: Any) -> SimpleNamespace:
        (row,) = (row for row in self if all(getattr(row, k) == v for k, v in wanted.items()))
        return row


def test_every_python_block_is_named_and_so_run_by_a_test() -> None:
    named = re.findall(r"<!-- snippet: (\w+) -->\n```python", POPUP)
    assert named == ["expect", "handler", "client", "test"]
    assert POPUP.count("```python") == len(named)


@pytest.mark.django_db(transaction=True)
def test_the_snippets_of_a_merchant_make_one_order_and_find_it_again(sandbox: Sandbox) -> None:
    order, shipment = SimpleNamespace(objects=Rows()), SimpleNamespace(objects=Rows())
    place_order = run("expect", Order=order)["place_order"]
    placed = place_order(SimpleNamespace(total=5000, pk=7))
    expected = ExpectedPayment.objects.get()
    assert (placed.expected, expected.amount, expected.currency) == (expected, 5000, "ILS")
    assert re.fullmatch(r"[A-Za-z0-9]{24}", expected.reference)
    sandbox.start_checkout(expected.reference, amount=5000, currency="ILS")
    sandbox.end_checkout(expected.reference)
    confirm_payment(expected.reference, door=Door.CONFIRM)
    run("handler", Order=order, Shipment=shipment)["deliver"](Fulfilment.objects.get())
    assert [row.order for row in shipment.objects] == [placed]


# The page and its script


def attribute(name: str) -> str:
    """Spell a name of `dataset` as HTML does."""
    return "data-" + re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", name)


def names_in(constant: str) -> list[str]:
    """The keys of a constant of the script."""
    (body,) = re.findall(rf"const {constant} = [{{[](.*?)[}}\]];", SCRIPT, re.DOTALL)
    body = re.sub(r"//.*", "", body)
    keys = re.findall(r"(\w+): ", re.sub(r'"[^"]*"', '""', body))
    return keys or re.findall(r'"(\w+)"', body)


def table_after(heading: str) -> list[str]:
    """The first cells of the first table after a heading."""
    rows = POPUP.split(heading)[1].split("\n\n|", 1)[1].split("\n\n")[0]
    return re.findall(r"^\|? ?`([^`]*)`", rows, re.MULTILINE)


def test_the_page_names_each_attribute_of_the_script_tag() -> None:
    read = {attribute(name) for name in re.findall(r'own\("(\w+)"\)', SCRIPT)}
    assert {"data-sdk", "data-sdk-new", "data-confirm-url"} <= read
    assert set(table_after("### Name the service's script")) == read | {"data-option-…"}


def test_the_page_names_each_field_option_and_text() -> None:
    fields = [attribute(name).removeprefix("data-") for name in names_in("FIELDS")]
    assert len(fields) == 7
    for name in fields:
        assert f"`{name}`" in POPUP
    for name in set(names_in("OPTIONS")) - set(names_in("FIELDS")):
        default = re.findall(rf'\b{name}: "(\w+)"', SCRIPT)[0]
        assert f"`{name}` (`{default}`)" in POPUP
    states = [name.removeprefix("payment:") for name in table_after("### What the payer is told")]
    assert set(states) == {*names_in("TEXTS"), "closed"}


def test_the_pages_have_no_attribute_that_the_script_does_not_read() -> None:
    known = {
        attribute(name)
        for constant in ("FIELDS", "OPTIONS", "TEXTS")
        for name in names_in(constant)
    }
    known |= {attribute("option" + name[0].upper() + name[1:])
              for name in (*names_in("FIELDS"), *names_in("OPTIONS"))}  # fmt: skip
    known |= set(table_after("### Name the service's script"))
    known |= {"data-popup", "data-popup-anew", "data-popup-status", "data-option"}
    for html in (*re.findall(r"^```html\n(.*?)^```", POPUP, re.DOTALL | re.MULTILINE), ORDER_PAGE):
        used = set(re.findall(r"\bdata-[a-z-]+", html))
        assert "data-popup" in used
        assert used <= known


def test_the_shop_has_a_text_of_its_own_for_each_state() -> None:
    texts = set(re.findall(r"data-(\w+)=\"\{% translate", ORDER_PAGE))
    assert texts >= set(names_in("TEXTS")) - {"opening"}


def test_the_policy_of_the_page_is_the_shops() -> None:
    popup = {
        "INLINE_URL": "https://pay.example/inline.js",
        "START_URL": "https://pay.example/checkout/start",
    }
    (written,) = re.findall(r"^Content-Security-Policy: (.*?)^```", POPUP, re.DOTALL | re.MULTILINE)
    assert " ".join(written.split()) == content_policy(popup)


# Confirm, and who calls it


def test_the_table_of_answers_is_the_code() -> None:
    table = POPUP.split("## 3.")[1].split("## 4.")[0]
    rows = re.findall(r"^\| (\d{3})[^|]*\| ([^|]*)\|", table, re.MULTILINE)
    written = {
        name: int(status) for status, names in rows for name in re.findall(r"`(\w+)`", names)
    }
    assert written.pop("invalid") == 400
    assert written == {str(outcome): int(status) for outcome, status in STATUSES.items()}
    assert set(written) == set(Outcome.values)


@pytest.fixture
def site(live_server: Any, sandbox: Sandbox, configure: Any) -> str:
    configure(SITE_URL=live_server.url)
    assert reverse("payments_pages:confirm") == "/payments/confirm/"
    return str(live_server.url)


def expect_and_pay(sandbox: Sandbox, **ending: Any) -> str:
    reference = ExpectedPayment.objects.expect(amount=5000, currency="ILS").reference
    sandbox.start_checkout(reference, amount=5000, currency="ILS")
    sandbox.end_checkout(reference, **ending)
    return reference


@pytest.mark.django_db(transaction=True)
def test_the_curl_line_gets_the_answer_that_is_shown(site: str, sandbox: Sandbox) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl on the PATH")
    reference = expect_and_pay(sandbox)
    line = snippet("curl", "console").replace("https://shop.example", site)
    (shown,) = re.findall(r'"reference": "(\w+)"', line)
    done = subprocess.run(
        shlex.split(line.replace(shown, reference)), capture_output=True, text=True, check=True
    )
    head, _blank, body = done.stdout.partition("\n\n")
    example_head, _blank, example_body = block("http").partition("\n\n")
    assert head.splitlines()[0] == example_head.splitlines()[0]
    assert set(example_head.splitlines()[1:]) <= set(head.splitlines())
    answer, example = json.loads(body), json.loads(example_body)
    assert list(answer) == list(example)
    assert (answer["outcome"], answer["reference"]) == (example["outcome"], reference)
    assert answer["result_url"].startswith(f"{site}/payments/result/")


@pytest.mark.django_db(transaction=True)
def test_the_client_of_the_page_reads_every_answer(
    site: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = run("client")["ask"]
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    with requests.Session() as session:
        session.trust_env = False
        status, outcome, result_url = ask(site, expect_and_pay(sandbox), session=session)
        assert (status, outcome) == (200, "delivered")
        assert Client().get(result_url.removeprefix(site)).status_code == 200
        declined = expect_and_pay(sandbox, status="failed")
        assert ask(site, declined, session=session)[:2] == (402, "not_paid")
        assert ask(site, "not a reference", session=session)[:2] == (400, "invalid")
        held = expect_and_pay(sandbox, amount=1)
        assert ask(site, held, session=session)[:2] == (202, "held")
        assert pauses == []
        late = expect_and_pay(sandbox, late=600)
        assert ask(site, late, turns=2, session=session)[:2] == (202, "pending")
        assert pauses == [5, 5]


@pytest.mark.django_db(transaction=True)
def test_the_client_of_the_page_outlives_what_a_phone_meets(
    site: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = run("client")["ask"]
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with requests.Session() as session:
        session.trust_env = False
        assert ask("http://127.0.0.1:9", "A-1", session=session) == (0, "offline", None)
        reference = expect_and_pay(sandbox)
        sandbox.faults.add(operation="verify", kind="status", status=503, times=2)
        assert ask(site, reference, turns=1, session=session)[:2] == (503, "unavailable")


@pytest.mark.django_db(transaction=True)
def test_the_snippet_with_the_sandbox_runs(settings: Any) -> None:
    run("test", settings=settings)
    assert Fulfilment.objects.count() == 2
