"""What a page asks its payers for is typed in fields of its own, never as raw JSON."""

from typing import Any

import pytest
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import ADD, add, sent, text

pytestmark = pytest.mark.django_db


def typed(*questions: tuple[str, str]) -> dict[str, str]:
    fields = {}
    for number, (label, name) in enumerate(questions, 1):
        fields[f"ask_for-{number}-label"] = label
        fields[f"ask_for-{number}-name"] = name
    return fields


def test_names_are_taken_or_made_up_and_never_twice_the_same(
    staff: Client, sandbox: Sandbox
) -> None:
    questions = typed(
        ("Phone number", ""),
        ("", ""),
        ("Name?", ""),
        ("Name!", ""),
        ("الاسم", ""),
        ("Size", "name"),
    )
    assert add(staff, **questions).status_code == 302
    assert sent(sandbox, "POST")[0]["custom_fields"] == [
        {"display_name": "Phone number", "variable_name": "phone_number"},
        {"display_name": "Name?", "variable_name": "name_2"},
        {"display_name": "Name!", "variable_name": "name_3"},
        {"display_name": "الاسم", "variable_name": "field_5"},
        {"display_name": "Size", "variable_name": "name"},
    ]


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        (("", "phone"), "Question 1 has a name but no text."),
        (("x" * 101, ""), "Question 1 is too long."),
        (("Phone", "x" * 101), "Question 1 is too long."),
        (("Phone", "phone number"), "The name of question 1 may have"),
        (("Phone", "هاتف"), "The name of question 1 may have"),
        (("Phone", "1st"), "The name of question 1 may have"),
    ],
)
def test_a_wrong_question_is_an_error_of_the_form_and_no_call(
    staff: Client, sandbox: Sandbox, question: tuple[str, str], complaint: str
) -> None:
    response = add(staff, **typed(question, ("Second", "")))
    assert response.status_code == 200
    assert complaint in text(response)
    assert 'value="Second"' in text(response), "what was typed stays"
    assert sandbox.requests == []


def test_two_names_that_are_the_same_are_an_error(staff: Client, sandbox: Sandbox) -> None:
    response = add(staff, **typed(("A", "x"), ("B", "x")))
    assert "Two questions have the name “x”." in text(response)
    assert sandbox.requests == []


def test_rows_are_there_without_a_script_and_never_run_out(staff: Client, sandbox: Sandbox) -> None:
    def rows_of(response: Any) -> int:
        return text(response).count('-label"')

    assert rows_of(staff.get(ADD)) == 5
    full = typed(*((f"Question {n}", "") for n in range(8)))
    assert rows_of(add(staff, **{**full, "name": ""})) == 9, "one blank row more than was typed"
    most = typed(*((f"Question {n}", "") for n in range(25)))
    assert rows_of(add(staff, **{**most, "name": ""})) == 20


def test_no_question_sends_none(staff: Client, sandbox: Sandbox) -> None:
    add(staff)
    assert "custom_fields" not in sent(sandbox, "POST")[0]
    assert PaymentPage.objects.get().custom_fields == []


@pytest.mark.parametrize("logo", ["javascript:alert(1)", "ftp://x.example/l.png", "not an address"])
def test_a_logo_is_an_address_of_the_web(staff: Client, sandbox: Sandbox, logo: str) -> None:
    response = add(staff, logo=logo)
    errors = response.context["adminform"].form.errors if response.status_code == 200 else {}
    assert "logo" in errors
    assert sandbox.requests == []
