"""The names a merchant may import: one list, which `docs/api.md` and the modules agree with."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from payments_pages import exceptions, signals, testing, urls

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text()

PUBLIC: dict[str, set[str]] = {
    "payments_pages": {"__version__"},
    "payments_pages.confirmation": {
        "Confirmation",
        "aconfirm_payment",
        "confirm_payment",
        "confirm_payment_on_commit",
        "oldest_due",
        "renew_lease",
        "sweep_due",
    },
    "payments_pages.models": {
        "Event",
        "ExpectedPayment",
        "Fulfilment",
        "PaymentPage",
        "SavedCard",
        "Transaction",
        "Verification",
    },
    "payments_pages.choices": {
        "Door",
        "FulfilmentState",
        "Mode",
        "Outcome",
        "Reason",
        "VerificationState",
    },
    "payments_pages.exceptions": set(exceptions.__all__),
    "payments_pages.signals": set(signals.__all__),
    "payments_pages.pages": {
        "SyncReport",
        "callback_url",
        "create_page",
        "public_url",
        "set_active",
        "sync_pages",
        "update_page",
    },
    "payments_pages.client": {
        "Client",
        "PageList",
        "PageResource",
        "TransactionResource",
        "get_client",
    },
    "payments_pages.money": {"format_amount", "parse_amount"},
    "payments_pages.views": {"health"},
    "payments_pages.tasks": {"nudge"},
    "payments_pages.celery": {"beat_entry", "nudge"},
    "payments_pages.staff": {"forget_cards"},
    "payments_pages.admin": {
        "PaymentPageAdmin",
        "SavedCardAdmin",
        "TransactionAdmin",
        "VerificationAdmin",
    },
    "payments_pages.testing": set(testing.__all__),
    "payments_pages.testing.fixtures": {"sandbox"},
    "payments_pages.sandbox": {"Sandbox"},
}
"""Every public name by the module it is imported from."""
NEEDS = {"payments_pages.celery": "celery", "payments_pages.sandbox": "werkzeug"}
"""Modules that need an optional dependency."""


def section(heading: str) -> str:
    """The text below a heading, up to the next heading of any level."""
    return PAGE.split(f"\n### {heading}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]


def listed(text: str) -> dict[str, str]:
    """The names that a list holds, each with what is said of it."""
    return dict(re.findall(r"^- `([\w:-]+)`:?(.*)$", text, re.MULTILINE))


@pytest.mark.parametrize("module", PUBLIC)
def test_each_public_name_can_be_imported_and_is_in_the_modules_list(module: str) -> None:
    if module in NEEDS:
        pytest.importorskip(NEEDS[module])
    found = import_module(module)
    assert [name for name in PUBLIC[module] if not hasattr(found, name)] == []
    if module != "payments_pages":
        assert PUBLIC[module] - set(found.__all__) == set()


def test_the_page_lists_exactly_the_public_modules() -> None:
    names = PAGE.split("\n## Names to import\n")[1].split("\n## ")[0]
    assert re.findall(r"^### `([\w.]+)`$", names, re.MULTILINE) == list(PUBLIC)


@pytest.mark.parametrize("module", PUBLIC)
def test_the_page_lists_exactly_the_public_names_with_a_line_on_each(module: str) -> None:
    lines = listed(section(f"`{module}`"))
    assert set(lines) == PUBLIC[module]
    assert [name for name, said in lines.items() if not said.strip()] == []


def test_the_page_lists_the_names_of_the_urls() -> None:
    named = [pattern for pattern in urls.urlpatterns if pattern.name]
    names = {f"{urls.app_name}:{pattern.name}" for pattern in named}
    assert set(listed(section("Names of URLs"))) == names


def test_the_page_lists_the_commands() -> None:
    folder = ROOT / "payments_pages" / "management" / "commands"
    assert set(listed(section("Commands"))) == {
        path.stem for path in folder.glob("payments_pages_*.py")
    }


def test_the_page_names_the_celery_tasks() -> None:
    pytest.importorskip("celery")
    module = import_module("payments_pages.celery")
    names = {module.sweep.name, module.take_reference.name}
    assert set(re.findall(r"`(payments_pages\.celery\.\w+)`", section("Listed elsewhere"))) == names
