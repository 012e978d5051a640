"""The snippets of the pages about settings, result pages, monitoring, testing, sites and signals."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client
from django.urls import include, path

from payments_pages import testing
from payments_pages.conf import conf
from payments_pages.confirmation import confirm_payment
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_held
from tests.support.payer_pages import Document, show
from tests.support.snippets import page_text, run_snippet, snippet

SETTINGS = [
    ("README.md", "site"),
    ("webhooks.md", "webhook"),
    ("monitoring.md", "notify"),
    ("result-pages.md", "texts"),
]


def take_over(settings: Any, page: str, name: str, **given: Any) -> None:
    """Let the site have the settings of a snippet."""
    names = run_snippet(page, name, PAYMENTS_PAGES=dict(settings.PAYMENTS_PAGES), **given)
    settings.PAYMENTS_PAGES = names["PAYMENTS_PAGES"]


def errors() -> list[str]:
    return [str(m.id) for m in run_checks() if (m.id or "").startswith("payments_pages.E")]


@pytest.mark.django_db
def test_the_settings_of_the_pages_pass_the_checks(settings: Any) -> None:
    for page, name in SETTINGS:
        take_over(settings, page, name)
    assert errors() == []
    assert conf.site_url == "https://shop.example"
    assert (conf.webhook_header, conf.webhook_algorithm) == ("x-lahza-signature", "sha256")
    assert conf.notify == ("payments@shop.example",)


def test_a_service_can_be_described_without_its_name(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAYMENTS_PAGES_SECRET_KEY", "sk_test_described")
    names = run_snippet("settings.md", "described", os=os)
    settings.PAYMENTS_PAGES = {
        **names["PAYMENTS_PAGES"],
        "HANDLER": "tests.support.goods.handlers.deliver",
    }
    assert errors() == []
    assert (conf.base_url, conf.mode) == ("https://api.pay.example", "test")


@pytest.mark.parametrize("name", ["sqlite", "urls.py"])
def test_what_settings_and_quick_start_both_show_is_the_same(name: str) -> None:
    """The quick start of README.md is run: so is what is the same."""
    assert snippet("settings.md", name) == snippet("README.md", name)


@pytest.mark.django_db(transaction=True)
def test_the_merchants_words_are_on_the_result_page(
    settings: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    take_over(settings, "result-pages.md", "texts")
    for language, name in conf.merchant("NAME").items():
        shown = Document(show("paid", sandbox, f"&lang={language}"))
        assert name in shown.text
        assert conf.merchant("NEXT_STEPS")[language] in shown.text
        assert conf.merchant("NEXT_LABEL")[language] in shown.text


@pytest.mark.django_db(transaction=True)
def test_a_template_of_ones_own_changes_one_block(
    tmp_path: Path, settings: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    folder = tmp_path / "payments_pages"
    folder.mkdir()
    (folder / "paid.html").write_text(snippet("result-pages.md", "paid.html", "html"))
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    shown = Document(show("paid", sandbox))
    assert "Tell a friend" in shown.text
    assert "Payment received" in shown.text
    assert "Tell a friend" not in Document(show("not_paid", sandbox)).text


@pytest.mark.django_db(transaction=True)
def test_a_view_of_ones_own_thanks_who_was_given_the_value(
    settings: Any, configure: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    thanks = run_snippet("result-pages.md", "views.py")["thanks"]
    urls = ModuleType("urls_of_the_page")
    route = 'path("thanks/<uuid:token>/", thanks, name="thanks")'
    assert f"`{route}`" in page_text("result-pages.md")
    assert '`"RESULT_VIEW": "thanks"`' in page_text("result-pages.md")
    ours = path("payments/", include("payments_pages.urls"))
    urls.urlpatterns = [ours, eval(route, {"path": path, "thanks": thanks})]  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = urls
    configure(RESULT_VIEW="thanks")
    for amount, text in ((10000, "Thank you!"), (1, "We are on it.")):
        visit = testing.pay(sandbox, tea_box, amount=amount)
        assert visit.response is not None
        assert visit.response["Location"].startswith("/thanks/")
        assert Client().get(visit.response["Location"]).content.decode() == text


@pytest.mark.django_db(transaction=True)
def test_the_health_view_is_routed_and_tells_the_age(
    settings: Any, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    urls = ModuleType("urls_of_the_page")
    routes = run_snippet("monitoring.md", "health", urlpatterns=[], path=path)["urlpatterns"]
    urls.urlpatterns = [path("payments/", include("payments_pages.urls")), *routes]  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = urls
    sandbox.faults.add(operation="verify", kind="status", status=503)
    confirm_payment(sandbox.pay("tea-box"))
    for passed, status in ((0, 200), (600, 503)):
        testing.let_time_pass(passed)
        answer = Client().get("/internal/payments-health/")
        assert answer.status_code == status
        assert set(answer.json()) == {"oldest_due_seconds", "overdue"}
        assert all(f'"{key}": …' in page_text("monitoring.md") for key in answer.json())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["test", "faults"])
def test_the_tests_of_a_handler_run(settings: Any, name: str) -> None:
    run_snippet("testing.md", name)


@pytest.mark.django_db(transaction=True)
def test_own_code_tells_what_is_paid(sandbox: Sandbox) -> None:
    is_paid = run_snippet("signals.md", "own-code")["is_paid"]
    page = testing.make_page(name="Tea box", amount=12050)
    paid = testing.pay(sandbox, page)
    open_ = testing.pay(sandbox, page, status="pending", returns=False)
    assert is_paid(paid.reference) is True
    assert is_paid(open_.reference) is False


@pytest.mark.django_db(transaction=True)
def test_the_receiver_tells_of_what_is_held(
    sandbox: Sandbox, tea_box: PaymentPage, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = run_snippet("signals.md", "receiver")["tell_staff"]
    try:
        testing.pay(sandbox, tea_box)
        assert "Held:" not in caplog.text
        visit = testing.pay(sandbox, tea_box, amount=1)
        assert f"Held: {visit.reference} (amount_mismatch)" in caplog.text
    finally:
        assert fulfilment_held.disconnect(receiver)


@pytest.mark.django_db(transaction=True)
def test_a_payment_of_another_account_is_unknown(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    with Sandbox(secret_key="sk_test_other", currency="ILS") as other:
        other.add_page(name="Tea box", slug="tea-box", amount=10000)
        reference = other.pay("tea-box")
        visit = testing.come_back(reference, page=tea_box)
        assert visit.outcome == "unknown"
        assert visit.fulfilment is None
