"""What payers answered to the questions of a page: one column, or one for each question."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.staff.export.csv_file import neutralise
from tests.unit.admin.export.downloads import (
    EXPORT,
    TRANSACTIONS,
    download,
    person,
    rows_of,
    written,
)
from tests.unit.admin.payments import paid

pytestmark = pytest.mark.django_db


def test_answers_are_one_column_of_json_labelled_by_the_page(tea_box: PaymentPage) -> None:
    PaymentPage.objects.update(custom_fields=[{"display_name": "القياس", "variable_name": "size"}])
    paid(
        page=tea_box,
        metadata={"custom_fields": [{"variable_name": "size", "value": 42}], "cart_id": 398},
    )
    assert json.loads(written(customers_shown=True)[0]["answers"]) == {"القياس": "42"}


@pytest.mark.parametrize("metadata", [None, "", 0, {}, [], "null", {"custom_fields": 3}])
@pytest.mark.parametrize("shown", [True, False])
def test_without_answers_the_column_is_empty(metadata: Any, shown: bool) -> None:
    paid(metadata=metadata)
    assert written(customers_shown=shown)[0]["answers"] == ""


@pytest.mark.parametrize("evil", ["=1+1", "a;=1", "a\n=1", "\t=1", "@x", "x\r+1"])
def test_neither_the_column_nor_a_text_in_it_is_a_formula(evil: str) -> None:
    paid(metadata={"custom_fields": [{"display_name": evil, "value": evil}]})
    cell = written(customers_shown=True)[0]["answers"]
    assert cell == neutralise(cell) or "'" in cell
    assert not re.search("[\t\r\n]", cell)
    ((label, answer),) = json.loads(cell).items()
    assert answer == neutralise(evil)
    assert label == neutralise(" ".join(evil.split()))


def test_of_one_page_each_question_has_a_column_of_its_own(
    staff: Client, tea_box: PaymentPage
) -> None:
    questions = [
        {"display_name": "Level", "variable_name": "level"},
        {"display_name": "a;=Size", "variable_name": "size"},
        {"display_name": "Level", "variable_name": "level_too"},
    ]
    PaymentPage.objects.update(custom_fields=questions)
    asked = [{**question, "value": f"one {number}"} for number, question in enumerate(questions)]
    paid(reference="T-1", page=tea_box, metadata={"custom_fields": asked})
    old = {"display_name": "Of old", "value": "gone"}
    paid(reference="T-2", page=tea_box, metadata={"custom_fields": [asked[0], old]})
    paid(reference="T-3", page=None)
    second, first = download(staff, f"?page__id__exact={tea_box.pk}")
    assert [*first][-5:] == [
        "ip_address", "answer: Level", "answer: a;'=Size", "answer: Level (2)", "answers",
    ]  # fmt: skip
    assert [*first.values()][-4:] == ["one 0", "one 1", "one 2", ""]
    assert [*second.values()][-4:] == ["one 0", "", "", '{"Of old": "gone"}']
    assert not [name for name in download(staff)[0] if name.startswith("answer:")]


def test_ticked_rows_of_one_page_have_its_questions_too(
    staff: Client, tea_box: PaymentPage
) -> None:
    PaymentPage.objects.update(custom_fields=[{"display_name": "Level", "variable_name": "l"}])
    row = paid(page=tea_box, metadata={"custom_fields": [{"variable_name": "l", "value": "B2"}]})
    response = staff.post(
        f"{TRANSACTIONS}?page__id__exact={tea_box.pk}",
        {"action": "export_selected", "_selected_action": [row.pk]},
    )
    (line,) = rows_of(b"".join(response.streaming_content))
    assert line["answer: Level"] == "B2"


def test_answers_in_columns_are_masked_without_the_permission(tea_box: PaymentPage) -> None:
    PaymentPage.objects.update(custom_fields=[{"display_name": "Level", "variable_name": "l"}])
    asked = [{"variable_name": "l", "value": "B2"}, {"display_name": "Of old", "value": "gone"}]
    paid(page=tea_box, metadata={"custom_fields": asked})
    paid(page=tea_box, metadata=None)
    clerk = person("view_transaction", "export_transaction")
    without, given = download(clerk, f"?page__id__exact={tea_box.pk}")
    assert (given["answer: Level"], given["answers"]) == ("•••", "•••")
    assert (without["answer: Level"], without["answers"]) == ("", "")


@pytest.mark.parametrize("page", ["none", "99999", "x", "", "1" * 30])
def test_a_page_that_is_none_adds_no_columns(staff: Client, page: str) -> None:
    paid(page=None)
    response = staff.post(EXPORT + f"?page__id__exact={page}")
    assert b"answer:" not in b"".join(response.streaming_content)
