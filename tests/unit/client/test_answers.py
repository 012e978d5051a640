"""What a payer typed into a page's questions, whatever shape the metadata has."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments_pages.client import read_answers
from payments_pages.client.answers import MAX_ANSWERS
from tests.unit.client.payloads import ANY_JSON

SIZE = {"display_name": "Size", "variable_name": "size", "value": "L"}
QUESTIONS = [{"display_name": "Your size", "variable_name": "size"}]


def fields(*elements: Any) -> dict[str, Any]:
    return {"custom_fields": list(elements)}


@pytest.mark.parametrize(
    "metadata",
    [None, "", 0, 7, True, [], {}, "null", "not json", "[1]", {"custom_fields": None},
     {"custom_fields": "Size"}, {"custom_fields": 3}, fields(), fields(None, 3, [], "x", {}),
     fields({"display_name": "Size"}), fields([SIZE])],
)  # fmt: skip
def test_where_nothing_was_answered_there_are_no_answers(metadata: Any) -> None:
    assert read_answers(metadata) == {}
    assert read_answers(metadata, QUESTIONS) == {}


@pytest.mark.parametrize(
    "metadata",
    [
        fields(SIZE),
        json.dumps(fields(SIZE)),
        json.dumps(json.dumps(fields(SIZE))),
        {"custom_fields": json.dumps([SIZE])},
        {"custom_fields": json.dumps(json.dumps([SIZE]))},
        fields(json.dumps(SIZE)),
        {"custom_fields": SIZE},
        {"custom_fields": {"Size": "L"}},
        {"custom_fields": {"Size": {"value": "L"}}},
        {"custom_fields": json.dumps({"Size": "L"})},
        fields("x", None, SIZE, {"display_name": "Colour"}),
    ],
)
def test_every_shape_that_holds_an_answer_gives_it(metadata: Any) -> None:
    assert read_answers(metadata) == {"Size": "L"}


@pytest.mark.parametrize(
    ("value", "text"),
    [("L", "L"), (" L ", " L "), ("", ""), (None, ""), (5, "5"), (1.5, "1.5"), (True, "true"),
     (False, "false"), (["a", 1], '["a", 1]'), ({"a": "ب"}, '{"a": "ب"}'), ("[1]", "[1]"),
     ("a\x00b", "ab"), ("x" * 3000, "x" * 1999 + "…"), (10**30, str(10**30))],
)  # fmt: skip
def test_a_value_of_any_type_becomes_text(value: Any, text: str) -> None:
    assert read_answers(fields({**SIZE, "value": value})) == {"Size": text}


@pytest.mark.parametrize(
    "label", [None, "", " \t\n", "\u200b\u200f", "\u3164\u2800", True, ["x"], {}]
)
def test_without_a_label_the_page_names_the_answer_or_else_its_name_does(label: Any) -> None:
    element = {**SIZE, "display_name": label}
    assert read_answers(fields(element), QUESTIONS) == {"Your size": "L"}
    assert read_answers(fields(element), [{"display_name": " ", "variable_name": "size"}]) == {
        "size": "L"
    }
    assert read_answers(fields(element)) == {"size": "L"}
    nameless = {"display_name": label, "value": "L"}
    assert read_answers(fields(SIZE, nameless), QUESTIONS) == {"Size": "L", "#2": "L"}


def test_a_name_with_spaces_finds_its_question() -> None:
    questions = [{"display_name": "Your size", "variable_name": "shirt size"}]
    element = {"variable_name": " shirt size ", "value": "L"}
    assert read_answers(fields(element), questions) == {"Your size": "L"}


@pytest.mark.parametrize("questions", ["", 0, {}, [None, 3], [{"variable_name": []}], "[{", [[]]])
def test_a_page_with_questions_of_any_shape_loses_no_answer(questions: Any) -> None:
    assert read_answers(fields({"variable_name": "size", "value": "L"}), questions) == {"size": "L"}


def test_two_answers_with_one_label_are_numbered_and_none_is_lost() -> None:
    names = ["Name", "Name (2)", "Name", " Name ", "Name (2)"]
    elements = [{"display_name": name, "value": n} for n, name in enumerate(names)]
    assert read_answers(fields(*elements)) == {
        "Name": "0", "Name (2)": "1", "Name (3)": "2", "Name (4)": "3", "Name (2) (2)": "4",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["referrer", "cancel_action", "payments_pages_token", "payments_pages_expected"]
)
def test_what_sites_and_services_add_for_themselves_is_no_answer(name: str) -> None:
    plumbing = {"variable_name": name, "value": "https://shop.example/"}
    assert read_answers({name: "https://shop.example/", **fields(SIZE, plumbing)}) == {"Size": "L"}
    assert read_answers({"custom_fields": {name: "x", "Size": "L"}}) == {"Size": "L"}


def test_a_page_may_ask_for_a_referrer_but_never_for_our_token() -> None:
    questions = [
        {"display_name": "Who sent you?", "variable_name": "referrer"},
        {"display_name": "Token", "variable_name": "payments_pages_token"},
    ]
    typed = fields(
        {"variable_name": "referrer", "value": "Aunt"},
        {"variable_name": "payments_pages_token", "value": "t"},
    )
    assert read_answers(typed, questions) == {"Who sent you?": "Aunt"}
    # What the service writes under that name is its own.
    assert read_answers({"referrer": "https://pay.example/x"}, questions) == {}


def test_what_the_page_asks_for_is_also_found_beside_custom_fields() -> None:
    assert read_answers({"size": "L", "cart_id": 398}, QUESTIONS) == {"Your size": "L"}
    assert read_answers({"size": "L", "cart_id": 398}) == {}
    assert read_answers({"size": "S", **fields(SIZE)}, QUESTIONS) == {"Size": "L"}


def test_ten_thousand_entries_are_bounded() -> None:
    same = [SIZE] * 10_000
    answers = read_answers(fields(*same), [dict(QUESTIONS[0])] * 10_000)
    assert len(answers) == MAX_ANSWERS
    assert list(answers)[-1] == f"Size ({MAX_ANSWERS})"
    assert read_answers(json.dumps({"custom_fields": ["x"] * 10_000})) == {}


def as_text(value: Any) -> str:
    return json.dumps(value, default=str)


ELEMENT = st.fixed_dictionaries(
    {},
    optional={
        "display_name": st.sampled_from(["Size", "Size (2)", " "]) | ANY_JSON,
        "variable_name": st.sampled_from(["size", "shirt size", "referrer"]) | ANY_JSON,
        "value": ANY_JSON,
    },
)
CUSTOM_FIELDS = st.lists(ELEMENT | ANY_JSON) | st.dictionaries(st.text(), ANY_JSON) | ELEMENT
METADATA = ANY_JSON | st.fixed_dictionaries(
    {"custom_fields": CUSTOM_FIELDS | CUSTOM_FIELDS.map(as_text)}
)


@given(METADATA | METADATA.map(as_text), ANY_JSON | st.lists(ELEMENT | ANY_JSON))
def test_any_metadata_gives_bounded_texts_that_can_be_stored(metadata: Any, questions: Any) -> None:
    answers = read_answers(metadata, questions)
    assert len(answers) <= MAX_ANSWERS
    for label, answer in answers.items():
        assert type(label) is str
        assert type(answer) is str
        assert label == label.strip() != ""
        assert "\0" not in label + answer
        (label + answer).encode()
        assert len(answer) <= 2000


@given(st.lists(st.tuples(st.text(), st.text(max_size=99)), max_size=MAX_ANSWERS))
def test_each_answer_is_there_once_and_in_order(typed: list[tuple[str, str]]) -> None:
    elements = [{"display_name": label, "value": value} for label, value in typed]
    answers = read_answers(fields(*elements))
    clean = [
        value.translate({0: None}).encode("utf-8", "ignore").decode() for _label, value in typed
    ]
    assert [*answers.values()] == clean
