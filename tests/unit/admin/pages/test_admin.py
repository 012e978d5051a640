"""Staff make, change and switch pages over HTTP, against the real sandbox."""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import rows

pytestmark = pytest.mark.django_db

ADD = "/admin/payments_pages/paymentpage/add/"
LIST = "/admin/payments_pages/paymentpage/"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    return client


def change_url(page: PaymentPage) -> str:
    return reverse("admin:payments_pages_paymentpage_change", args=[page.pk])


def add(client: Client, **fields: str) -> Any:
    return client.post(
        ADD, {"name": "Tea box", "amount": "", "description": "", "slug": "", **fields}
    )


def sent(sandbox: Sandbox, method: str) -> list[dict[str, Any]]:
    return [json.loads(r.body) for r in sandbox.requests if r.method == method]


def text(response: Any) -> str:
    return response.content.decode()


def test_a_page_is_made_at_the_service_and_mirrored(staff: Client, sandbox: Sandbox) -> None:
    response = add(
        staff,
        amount="120.50",
        description="12 bags",
        slug="tea-box",
        **{"ask_for-1-label": "Phone number", "ask_for-2-label": "الاسم"},
        logo="https://shop.example/logo.png",
    )
    assert response.status_code == 302, text(response)
    page = PaymentPage.objects.get()
    (body,) = sent(sandbox, "POST")
    assert body["amount"] == "12050"
    assert body["custom_fields"] == [
        {"display_name": "Phone number", "variable_name": "phone_number"},
        {"display_name": "الاسم", "variable_name": "field_2"},
    ]
    assert body["metadata"]["logo_url"] == "https://shop.example/logo.png"
    assert body["redirect_url"] == f"https://testserver/payments/callback/{page.token}/"
    assert (page.slug, page.amount, page.currency, page.active) == ("tea-box", 12050, "ILS", True)
    assert sandbox.calls("GET", "/page/check_slug_availability/tea-box") == 1


def test_c60_a_blank_slug_is_made_up_and_arabic_names_do_not_collide(
    staff: Client, sandbox: Sandbox
) -> None:
    for _ in range(2):
        assert add(staff, name="شاي بالنعناع").status_code == 302
    slugs = [page.slug for page in PaymentPage.objects.all()]
    assert len(set(slugs)) == 2
    assert all(slug.isascii() and slug.isalnum() for slug in slugs)


@pytest.mark.parametrize(
    "slug",
    ["شاي", "a/b", "Tea Box", "x" * 101, "check_slug_availability", "123", "..", "-a", "a?b"],
)
def test_c60_an_unsafe_slug_is_an_error_of_the_form_and_no_call(
    staff: Client, sandbox: Sandbox, slug: str
) -> None:
    response = add(staff, slug=slug, name="Kept name")
    assert response.status_code == 200
    assert response.context["adminform"].form.errors["slug"]
    assert "Kept name" in text(response)
    assert sandbox.requests == []


@pytest.mark.parametrize(
    "amount",
    ["1.005", "1e3", "-5", "0", "0.00", "123,45", "12.5.0", "abc", "5 USD", "9" * 30, "NaN"],
)
def test_c42_a_wrong_amount_is_an_error_of_the_form_and_no_call(
    staff: Client, sandbox: Sandbox, amount: str
) -> None:
    response = add(staff, amount=amount)
    assert response.status_code == 200
    assert response.context["adminform"].form.errors["amount"]
    assert sandbox.requests == []


def test_c42_amounts_go_out_in_minor_units_without_loss(staff: Client, sandbox: Sandbox) -> None:
    add(staff, amount="599.80")
    page = PaymentPage.objects.get()
    assert sent(sandbox, "POST")[0]["amount"] == "59980"
    for typed, minor in (("19.99", 1999), ("0.29", 29), ("١٢٫٥٠", 1250), ("1,234.50 ILS", 123450)):
        response = staff.post(
            change_url(page),
            {"name": "Tea box", "amount": typed, "description": "", "active": "on"},
        )
        assert response.status_code == 302, text(response)
        assert sent(sandbox, "PUT")[-1]["amount"] == minor
        page.refresh_from_db()
        assert page.amount == minor


def test_jod_has_a_hundred_qirsh(staff: Client, sandbox: Sandbox) -> None:
    sandbox.set_account(currency="JOD")
    add(staff, amount="12.50", slug="olives")
    page = PaymentPage.objects.get()
    assert sent(sandbox, "POST")[0]["amount"] == "1250"
    staff.post(change_url(page), {"name": "Olives", "amount": "12.50", "active": "on"})
    staff.post(change_url(page), {"name": "Olives", "amount": "13.75", "active": "on"})
    assert "amount" not in sent(sandbox, "PUT")[0]
    assert sent(sandbox, "PUT")[1]["amount"] == 1375
    assert "13.75\u00a0JOD" in text(staff.get(LIST))
    assert 'value="13.75"' in text(staff.get(change_url(page)))


def test_only_what_was_changed_is_sent_and_the_sandbox_shows_it(
    staff: Client, sandbox: Sandbox
) -> None:
    add(staff, amount="100", slug="tea-box", description="12 bags")
    page = PaymentPage.objects.get()
    staff.post(
        change_url(page),
        {"name": "Green tea", "amount": "100.00", "description": "12 bags", "active": "on"},
    )
    assert sent(sandbox, "PUT") == [{"name": "Green tea"}]
    page.refresh_from_db()
    assert page.name == "Green tea"


def test_a_price_cannot_be_taken_off(staff: Client, sandbox: Sandbox) -> None:
    add(staff, amount="100")
    response = staff.post(
        change_url(PaymentPage.objects.get()), {"name": "Tea box", "amount": "", "active": "on"}
    )
    assert response.context["adminform"].form.errors["amount"]
    assert sent(sandbox, "PUT") == []


def test_c55_deactivation_tells_which_page_failed(staff: Client, sandbox: Sandbox) -> None:
    add(staff, name="First", amount="100", slug="first", description="12 bags")
    add(staff, name="Second", amount="50", slug="second")
    first, second = PaymentPage.objects.order_by("pk")
    path = f"/page/{second.remote_id}"
    sandbox.faults.add(
        operation="update", kind="status", status=500, reference=str(second.remote_id)
    )
    chosen = {"action": "deactivate_pages", "_selected_action": [first.pk, second.pk]}
    assert "take me back" in text(staff.post(LIST, chosen))
    assert sent(sandbox, "PUT") == [], "it is asked first"
    response = staff.post(LIST, {**chosen, "confirmed": "1"})
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.active, second.active) == (False, True)
    assert (first.description, first.amount) == ("12 bags", 10000)
    assert sandbox.calls("PUT", path) >= 1
    assert {"name": "First", "active": False} in sent(sandbox, "PUT")
    shown = text(response)
    assert "1 page done." in shown
    assert "1 page failed." in shown
    outcomes = {row[0]: row[1] for row in rows(shown)}
    assert outcomes["First"] == "✓ Deactivated."
    assert "It may have saved the change" in outcomes["Second"]
    assert [
        entry.object_repr
        for entry in LogEntry.objects.filter(change_message__contains="(deactivated)")
    ] == ["First"]
    staff.post(LIST, {**chosen, "confirmed": "1", "_selected_action": [first.pk]})
    first.refresh_from_db()
    assert (first.active, first.description) == (False, "12 bags"), "a second run does no harm"


def test_a_slug_that_is_taken_is_an_error_of_its_field(staff: Client, sandbox: Sandbox) -> None:
    sandbox.add_page(name="Other", slug="tea-box", amount=100)
    response = add(staff, slug="tea-box")
    assert response.context["adminform"].form.errors["slug"]
    assert sent(sandbox, "POST") == []
    assert PaymentPage.objects.count() == 0


def test_c53_a_lost_answer_is_looked_up_and_adopted_never_posted_again(
    staff: Client, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="create", kind="answer_lost", times=1)
    sandbox.faults.add(operation="fetch", kind="status", status=503, times=2)
    response = add(staff, amount="100")
    form = response.context["adminform"].form
    slug = form["slug"].value()
    assert form.errors["slug"]
    assert slug
    response = add(staff, amount="100", slug=slug)
    assert response.status_code == 302, text(response)
    page = PaymentPage.objects.get()
    assert page.remote_id is not None
    assert len(sent(sandbox, "POST")) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_a_refusal_is_shown_on_the_form_with_the_typed_values(
    staff: Client, sandbox: Sandbox, status: int
) -> None:
    sandbox.faults.add(
        operation="create",
        kind="status",
        status=status,
        body={"status": False, "message": "<b>No</b>"},
    )
    response = add(staff, name="Kept name", amount="100", slug="tea-box")
    assert response.status_code == 200
    assert response.context["adminform"].form.errors
    assert "Kept name" in text(response)
    assert "<b>No</b>" not in text(response)


def test_an_unreachable_service_is_an_error_of_the_form(
    staff: Client, configure: Any, sandbox: Sandbox
) -> None:
    configure(BASE_URL="http://127.0.0.1:9/api")
    response = add(staff, amount="100", slug="tea-box")
    assert response.status_code == 200
    assert "cannot be reached" in text(response)
    assert PaymentPage.objects.count() == 0


def test_pages_work_under_atomic_requests(staff: Client, sandbox: Sandbox, settings: Any) -> None:
    from django.db import connection

    connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        assert add(staff, amount="100", slug="tea-box").status_code == 302
        page = PaymentPage.objects.get()
        staff.post(
            LIST,
            {"action": "deactivate_pages", "_selected_action": [page.pk], "confirmed": "1"},
        )
        page.refresh_from_db()
        assert page.active is False
        assert staff.post(f"{LIST}sync/").status_code == 302
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = False


def test_sync_mirrors_what_was_made_elsewhere(staff: Client, sandbox: Sandbox) -> None:
    sandbox.add_page(name="Elsewhere", slug="elsewhere", amount=500)
    response = staff.post(f"{LIST}sync/", follow=True)
    assert "1 added" in text(response)
    assert PaymentPage.objects.get().slug == "elsewhere"
    assert staff.get(f"{LIST}sync/").status_code == 405


def test_nobody_deletes_a_page(staff: Client, sandbox: Sandbox) -> None:
    add(staff, amount="100")
    page = PaymentPage.objects.get()
    assert staff.post(f"{LIST}{page.pk}/delete/", {"post": "yes"}).status_code == 403
    response = staff.post(LIST, {"action": "delete_selected", "_selected_action": [page.pk]})
    assert PaymentPage.objects.count() == 1
    assert "delete_selected" not in text(response)


def test_a_viewer_sees_the_amount_in_major_units_and_changes_nothing(
    client: Client, sandbox: Sandbox, staff: Client
) -> None:
    add(staff, amount="7965.50")
    page = PaymentPage.objects.get()
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_paymentpage"))
    client = Client()
    client.force_login(viewer)
    shown = text(client.get(change_url(page)))
    assert "7,965.50\u00a0ILS" in shown
    assert "796550" not in shown
    assert client.get(ADD).status_code == 403
    assert client.post(f"{LIST}sync/").status_code == 403
    client.post(LIST, {"action": "deactivate_pages", "_selected_action": [page.pk]})
    page.refresh_from_db()
    assert page.active is True


def test_c51_names_run_nothing_in_the_admin(staff: Client, sandbox: Sandbox) -> None:
    sandbox.add_page(
        name="<svg/onload=1>", description="</textarea><script>1</script>", slug="x1", amount=5
    )
    staff.post(f"{LIST}sync/")
    page = PaymentPage.objects.get()
    for url in (LIST, change_url(page)):
        shown = text(staff.get(url))
        assert "<svg/onload" not in shown
        assert "<script>1" not in shown
