"""The form of a new page is sent twice, and one page is made."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.utils import timezone

from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, slug_key
from payments_pages.sandbox import Sandbox
from tests.conftest import in_thread
from tests.support.pages_admin import ADD, LIST, change_url, fields_of, sent, text

pytestmark = pytest.mark.django_db(transaction=True)


def shown_form(client: Client, **typed: str) -> dict[str, str]:
    """What a browser sends of the form as it is shown, with what staff type."""
    return {**fields_of(client.get(ADD)), "name": "Tea box", "amount": "100", **typed}


def told(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def another(client: Client) -> Client:
    """The same person's browser, for a second thread."""
    twin = Client()
    twin.cookies = client.cookies
    return twin


def test_d17_the_form_suggests_a_slug_that_is_its_key(staff: Client, sandbox: Sandbox) -> None:
    first, second = shown_form(staff), shown_form(staff)
    assert first["slug"] == first["initial-slug"] != ""
    assert first["slug"] != second["slug"]
    assert fields_of(staff.get(f"{ADD}?slug=mug"))["slug"] == "mug"


@pytest.mark.parametrize("slug", ["as suggested", "", "tea-box"])
@pytest.mark.parametrize(
    ("button", "goes_to"), [("_save", LIST), ("_addanother", ADD), ("_continue", "the page")]
)
def test_d17_a_form_that_is_sent_again_makes_no_second_page(
    staff: Client, sandbox: Sandbox, slug: str, button: str, goes_to: str
) -> None:
    typed = {} if slug == "as suggested" else {"slug": slug}
    form = shown_form(staff, **typed, **{button: "yes"})
    assert staff.post(ADD, form).status_code == 302
    page = PaymentPage.objects.get()
    for _time in range(2):
        again = staff.post(ADD, form)
        assert again.status_code == 302, text(again)
        assert again.url == (change_url(page) if goes_to == "the page" else goes_to)
        assert "This form was sent twice." in told(again)[-1]
        assert "Tea box</a>” is made already" in told(again)[-1]
    assert PaymentPage.objects.get() == page
    assert len(sent(sandbox, "POST")) == 1


def test_d17_another_page_under_the_same_slug_is_an_error_of_the_form(
    staff: Client, sandbox: Sandbox
) -> None:
    form = shown_form(staff)
    staff.post(ADD, form)
    for other in ({"name": "Mug"}, {"amount": "50"}, {"description": "For two"}):
        answer = staff.post(ADD, {**form, **other})
        assert answer.status_code == 200
        assert "You already have a page with this slug." in text(answer)
    assert PaymentPage.objects.count() == 1


def test_d17_a_hidden_slug_that_was_tampered_with_is_refused(
    staff: Client, sandbox: Sandbox
) -> None:
    answer = staff.post(
        ADD, {**shown_form(staff, name="شاي"), "slug": "", "initial-slug": "../../x"}
    )
    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors["slug"]
    assert sandbox.requests == []


@pytest.mark.parametrize("operation", ["check_slug", "create"])
def test_d17_two_at_once_make_one_page(staff: Client, sandbox: Sandbox, operation: str) -> None:
    form = shown_form(staff)
    results: list[Any] = []

    def second() -> None:
        sandbox.faults.clear()
        results.append(in_thread(lambda: another(staff).post(ADD, form)).result(timeout=20))

    sandbox.faults.add(operation=operation, kind="run", function=second, times=1)
    first = staff.post(ADD, form)
    assert results[0].status_code == 302
    assert first.status_code == 302, text(first)
    assert PaymentPage.objects.get().remote_id is not None
    assert len(sent(sandbox, "POST")) == 1


def test_d17_while_the_first_is_on_its_way_the_second_is_told_and_posts_nothing(
    staff: Client, sandbox: Sandbox
) -> None:
    form = shown_form(staff)
    results: list[Any] = []

    def second() -> None:
        # The page is not at the service yet: the first call is still on its way there.
        sandbox.faults.add(operation="fetch", kind="status", status=404, times=1)
        results.append(in_thread(lambda: another(staff).post(ADD, form)).result(timeout=20))

    sandbox.faults.add(operation="create", kind="run", function=second, times=1)
    assert staff.post(ADD, form).status_code == 302
    assert results[0].status_code == 200
    assert "is being made right now" in text(results[0])
    assert fields_of(results[0])["slug"] == form["slug"], "saving again is safe"
    assert "This form was sent twice." in told(staff.post(ADD, form))[-1]
    assert PaymentPage.objects.get().remote_id is not None
    assert len(sent(sandbox, "POST")) == 1


def test_d17_a_creation_whose_process_died_is_taken_over_after_its_lease(
    sandbox: Sandbox,
) -> None:
    draft = PaymentPage.objects.create(name="a", slug="a1", slug_key=slug_key("a1"), domain="test")
    rows = PaymentPage.objects.filter(pk=draft.pk)
    rows.update(creating_until=timezone.now() + dt.timedelta(minutes=1))
    with pytest.raises(PageError, match="being made right now"):
        create_page(name="Tea box", amount=10000, slug="a1", site_url="https://shop.example.test")
    assert sent(sandbox, "POST") == []
    rows.update(creating_until=timezone.now() - dt.timedelta(minutes=1))
    page = create_page(
        name="Tea box", amount=10000, slug="a1", site_url="https://shop.example.test"
    )
    assert page.pk == draft.pk
    assert len(sent(sandbox, "POST")) == 1


def test_d17_after_a_lost_answer_the_next_save_waits_for_no_lease(
    staff: Client, sandbox: Sandbox
) -> None:
    # Neither the creation nor the look-up after it reached the service.
    sandbox.faults.add(operation="create", kind="drop", times=1)
    sandbox.faults.add(operation="fetch", kind="status", status=503, times=2)
    form = shown_form(staff)
    assert "The service did not answer" in text(staff.post(ADD, form))
    assert PaymentPage.objects.get().creating_until is None
    assert staff.post(ADD, form).status_code == 302
    assert PaymentPage.objects.get().remote_id is not None


def test_d17_the_leases_end_is_the_databases(staff: Client, sandbox: Sandbox) -> None:
    ends: list[Any] = []

    def look() -> None:
        def read() -> Any:
            return PaymentPage.objects.values_list("creating_until", flat=True).get()

        ends.append(in_thread(read).result(timeout=20))

    sandbox.faults.add(operation="create", kind="run", function=look, times=1)
    assert staff.post(ADD, shown_form(staff)).status_code == 302
    left = (ends[0] - timezone.now()).total_seconds()
    assert 10 < left < 60, connection.vendor
