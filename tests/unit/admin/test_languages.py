"""What is stored about errors and deeds is read in the reader's language, not in the writer's."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from payments_pages.models import PaymentPage, Verification
from payments_pages.pages import sync_pages
from payments_pages.pages.differences import describe_differences, record_differences
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import change_url, open_form

pytestmark = pytest.mark.django_db

ADMIN = "/admin/payments_pages/"
PAGES, PAYMENTS = ADMIN + "paymentpage/", ADMIN + "transaction/"
LANGUAGES = ("ar", "he")
OURS = re.compile(r"[A-Za-z]{3,}")


@pytest.fixture
def root() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def read(client: Client, url: str, language: str) -> str:
    return client.get(url, headers={"accept-language": language}).content.decode()


def do(client: Client, url: str, language: str, **data: Any) -> str:
    headers = {"accept-language": language}
    return client.post(url, data, headers=headers, follow=True).content.decode()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_last_error_of_a_reference_is_in_the_readers_language(
    root: Client, sandbox: Sandbox, language: str
) -> None:
    do(root, PAYMENTS + "verify/", "en", reference="PPG-404")
    row = Verification.objects.get()
    assert row.last_error == "NotFound: The service does not know it now."
    shown = read(root, f"{ADMIN}verification/{row.pk}/change/", language)
    assert "does not know it now" not in shown
    with translation.override(language):
        told = translation.gettext("The service does not know it now.")
    assert shown.count(told) == 2, "among the fields and in the timeline"
    assert f"{told} (NotFound)" in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_service_refuses_is_told_once_and_quoted(
    root: Client, sandbox: Sandbox, language: str
) -> None:
    sandbox.add_page(name="Tea", slug="tea", amount=100, active=False)
    sync_pages()
    sandbox.faults.add(
        operation="update", kind="status", status=422,
        body={"status": False, "message": "Not <now>"},
    )  # fmt: skip
    page = PaymentPage.objects.get()
    shown = do(root, PAGES, language, action="activate_pages", _selected_action=page.pk)
    assert '<q class="pp-own" dir="auto">Not &lt;now&gt;</q>' in shown
    assert "refuse" not in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sync_names_what_it_left_out_in_the_readers_language(
    root: Client, sandbox: Sandbox, language: str
) -> None:
    page = sandbox.add_page(name="Odd", slug="odd", amount=100)
    sandbox.state.change_page(page["id"], {"amount": "x"})
    shown = do(root, PAGES + "sync/", language)
    assert "Odd" in shown
    assert "cannot be read" not in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sync_that_breaks_off_says_so_in_plain_text(
    root: Client, sandbox: Sandbox, language: str
) -> None:
    """A script shows it, and would show marks of HTML as they are."""
    sandbox.faults.add(
        operation="list", kind="status", status=422, body={"status": False, "message": "No & <no>"}
    )
    headers = {"accept": "application/json", "accept-language": language}
    told = root.post(PAGES + "sync/", headers=headers).json()["error"]
    assert told.endswith(": No & <no>")
    assert OURS.search(told) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_setting_that_is_missing_is_told_in_the_readers_language(
    root: Client, settings: Any, language: str
) -> None:
    settings.PAYMENTS_PAGES = {**settings.PAYMENTS_PAGES, "MODE": "tset"}
    shown = read(root, ADMIN, language)
    assert "PAYMENTS_PAGES[&quot;MODE&quot;]" in shown
    assert "must be" not in shown


@pytest.mark.parametrize(("writer", "reader"), [("he", "en"), ("en", "he"), ("ar", "en")])
def test_the_history_is_in_the_language_of_who_reads_it(
    root: Client, sandbox: Sandbox, writer: str, reader: str
) -> None:
    sandbox.add_page(name="7", slug="tea", amount=100, active=False)
    do(root, PAGES + "sync/", writer)
    page = PaymentPage.objects.get()
    do(root, f"{PAGES}{page.pk}/seller/", writer, seller="here")
    for action in ("activate_pages", "deactivate_pages"):
        do(root, PAGES, writer, action=action, _selected_action=page.pk, confirmed="1")
    do(root, change_url(page), writer, **{**open_form(root, page), "name": "8"})
    for url in ("export/", "export/xlsx/", "export/?currency=ILS"):
        answer: Any = root.post(PAYMENTS + url, headers={"accept-language": writer})
        list(answer.streaming_content)
    assert page.remote_id is not None
    sandbox.state.forget_page(page.remote_id)
    do(root, PAGES + "sync/", writer)
    do(root, PAGES, writer, action="remove_pages", _selected_action=page.pk, confirmed="1")
    with translation.override(reader):
        told = [(line.object_repr, line.get_change_message()) for line in LogEntry.objects.all()]
    assert len(told) == 10
    foreign = re.compile("[\u0590-\u05ff\u0600-\u06ff]")
    for named, message in told:
        assert foreign.search(named) is None, "a name has no language"
        assert bool(foreign.search(message)) == (reader != "en"), message


@pytest.mark.parametrize("language", ["en", *LANGUAGES])
def test_every_list_has_djangos_own_word_on_the_button_that_searches(
    root: Client, language: str
) -> None:
    buttons = {
        tuple(re.findall(r'<input type="submit" value="([^"]*)">', read(root, url, language)))
        for url in (PAYMENTS, PAGES, ADMIN + "verification/", "/admin/auth/user/")
    }
    assert len(buttons) == 1
    assert len(buttons.pop()) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_price_without_known_decimals_says_so_in_the_readers_language(language: str) -> None:
    page = PaymentPage(name="Tea", slug="tea", currency="EUR", amount=500)
    record_differences(page, {"amount": 12345})
    with translation.override(language):
        told = describe_differences(page)
    assert "12,345\u00a0EUR (" in told
    assert "minor" not in told
    assert "smallest" not in told
