"""Staff see whose page a page is, and say so."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import PaymentPage
from payments_pages.pages import sync_pages
from payments_pages.sandbox import Sandbox

pytestmark = pytest.mark.django_db

LIST = reverse("admin:payments_pages_paymentpage_changelist")
PAYMENTS = reverse("admin:payments_pages_transaction_changelist")


@pytest.fixture
def theirs(sandbox: Sandbox) -> PaymentPage:
    sandbox.add_page(
        name="Course B", slug="course-b", amount=10000, redirect_url="https://shop-b.example/thanks"
    )
    sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    sync_pages()
    return PaymentPage.objects.get(slug="course-b")


def form_of(page: PaymentPage) -> str:
    return reverse("admin:payments_pages_paymentpage_change", args=[page.pk])


def seller_of(page: PaymentPage) -> str:
    return reverse("admin:payments_pages_paymentpage_seller", args=[page.pk])


def names(response: Any) -> list[str]:
    return [page.name for page in response.context["cl"].result_list]


def messages(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def test_another_sites_page_is_shown_apart(staff: Client, theirs: PaymentPage) -> None:
    response = staff.get(LIST)
    assert response.content.decode().count("pp-badge-off") == 1
    assert "of another site" in response.content.decode()
    assert names(staff.get(LIST, {"state": "elsewhere"})) == ["Course B"]
    shown = staff.get(form_of(theirs)).content.decode()
    assert "https://shop-b.example/thanks" in shown
    assert "another site on the same account" in shown
    assert seller_of(theirs) in shown
    ours = PaymentPage.objects.get(slug="tea-box")
    assert seller_of(ours) not in staff.get(form_of(ours)).content.decode()


def test_staff_say_that_it_is_sold_here_and_take_it_back(
    staff: Client, theirs: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("course-b", metadata={"slug": "course-b"})
    assert confirm_payment(reference, door=Door.WEBHOOK, vouched=True).outcome is Outcome.HELD
    answer = staff.post(seller_of(theirs), {"seller": "here"}, follow=True)
    assert "This site sells it." in messages(answer)
    theirs.refresh_from_db()
    assert theirs.sold_here
    assert "another site on the same account" not in answer.content.decode()
    assert sweep_due().outcomes[Outcome.DELIVERED] == 1
    entry = LogEntry.objects.get()
    assert entry.object_id == str(theirs.pk)
    assert entry.get_change_message() == "Changed seller (this site)."
    staff.post(seller_of(theirs), {"seller": "unsaid"})
    theirs.refresh_from_db()
    assert not theirs.sold_here
    assert LogEntry.objects.count() == 2


def test_staff_say_it_of_many_at_once_and_are_asked_first(
    staff: Client, theirs: PaymentPage
) -> None:
    pages = [str(page.pk) for page in PaymentPage.objects.all()]
    for action, here in (("say_sold_elsewhere", False), ("say_sold_here", True)):
        ticked = {"action": action, "_selected_action": pages}
        asked = staff.post(LIST, ticked)
        assert asked.context["asking"]
        assert PaymentPage.objects.sold_here().count() == 1 - (action == "say_sold_here")
        staff.post(LIST, {**ticked, "confirmed": "yes"})
        assert [page.sold_here for page in PaymentPage.objects.all()] == [here, here]


def test_it_needs_the_permission_to_change_pages(
    person: Callable[..., Client], theirs: PaymentPage
) -> None:
    viewer = person("view_paymentpage", "sync_paymentpage")
    assert seller_of(theirs) not in viewer.get(form_of(theirs)).content.decode()
    assert viewer.post(seller_of(theirs), {"seller": "here"}).status_code == 403
    viewer.post(LIST, {"action": "say_sold_here", "_selected_action": [theirs.pk], "confirmed": 1})
    assert not PaymentPage.objects.get(pk=theirs.pk).sold_here
    changer = person("view_paymentpage", "change_paymentpage")
    assert changer.get(seller_of(theirs)).status_code == 405
    assert changer.post(seller_of(theirs), {"seller": "here"}).status_code == 302
    assert PaymentPage.objects.get(pk=theirs.pk).sold_here
    assert Client().post(seller_of(theirs), {"seller": "unsaid"}).status_code == 302
    assert PaymentPage.objects.get(pk=theirs.pk).sold_here


@pytest.mark.parametrize("word", ["", "nobody", "HERE"])
def test_another_word_says_nothing(staff: Client, theirs: PaymentPage, word: str) -> None:
    assert staff.post(seller_of(theirs), {"seller": word}).status_code == 302
    assert not LogEntry.objects.exists()


def test_a_page_that_there_is_not_leads_to_the_list(staff: Client, theirs: PaymentPage) -> None:
    missing = reverse("admin:payments_pages_paymentpage_seller", args=[theirs.pk + 1000])
    assert staff.post(missing, {"seller": "here"}).headers["Location"] == LIST


def test_without_site_url_staff_are_told_to_set_it(
    staff: Client, theirs: PaymentPage, configure: Any, settings: Any
) -> None:
    configure(SITE_URL=None)
    answer = staff.post(seller_of(theirs), {"seller": "here"}, follow=True)
    assert "Set SITE_URL first" in messages(answer)
    assert "another site on the same account" in answer.content.decode()
    settings.ALLOWED_HOSTS = ["*"]
    assert "Nobody can tell" in staff.get(form_of(theirs)).content.decode()
    assert not PaymentPage.objects.get(pk=theirs.pk).sold_here
    assert not LogEntry.objects.exists()


def test_a_payment_on_it_is_in_the_list_and_explained_and_waits_for_nobody(
    staff: Client, theirs: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("course-b", metadata={"slug": "course-b"})
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
    for shown in (staff.get(PAYMENTS), staff.get(PAYMENTS, {"held": "other_site"})):
        assert reference in shown.content.decode()
        assert "another site’s" in shown.content.decode()
    assert reference not in staff.get(PAYMENTS, {"held": "decision"}).content.decode()
    paid = theirs.transactions.get()
    address = reverse("admin:payments_pages_transaction_change", args=[paid.pk])
    story = staff.get(address).content.decode()
    assert "Paid, not to this site" in story
    assert "the site that sells the page delivers it" in story
    index = staff.get(reverse("admin:index")).content.decode()
    assert "waits for a decision" not in index


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"active": False}, "is switched off; it is not known since when."),
        ({"missing_since": "2026-01-02T03:04:00Z"}, "The service has not had"),
        ({"active": False, "inactive_since": "2026-01-02T03:04:00Z"}, "was switched off at"),
        ({"remote_id": None}, "has never confirmed that it has"),
        ({"domain": "live"}, "belongs to live mode, and this site takes test payments only."),
    ],
)
def test_a_hold_for_a_page_off_sale_says_since_when(
    staff: Client, theirs: PaymentPage, sandbox: Sandbox, fields: dict[str, Any], sentence: str
) -> None:
    page = PaymentPage.objects.get(slug="tea-box")
    PaymentPage.objects.filter(pk=page.pk).update(**fields)
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
    paid = page.transactions.get()
    address = reverse("admin:payments_pages_transaction_change", args=[paid.pk])
    story = staff.get(address).content.decode()
    assert "its page was not on sale" in story
    assert sentence in story
    PaymentPage.objects.filter(pk=page.pk).update(
        active=True, missing_since=None, remote_id=page.remote_id, domain="test"
    )
    assert "It is on sale now." in staff.get(address).content.decode()
