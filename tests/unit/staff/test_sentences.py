"""The sentences of our errors are in the language of the staff who read them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import transaction as db_transaction
from django.utils import translation

import payments_pages
from payments_pages import exceptions
from payments_pages.admin.formats import quoted_error
from payments_pages.client.resources import PageResource
from payments_pages.client.targets import checked_base_url
from payments_pages.confirmation.handlers import PLAIN_FUNCTION
from payments_pages.db import refuse_open_transaction
from payments_pages.exceptions import ConfigurationError, OpenTransactionError, UnreadablePage
from payments_pages.staff import find_sentence, split_class, translate_error

PACKAGE = Path(payments_pages.__file__).parent
ROOMS = ("client", "confirmation", "db", "pages", "staff")
FILES = ("conf.py", "credentials.py")
ELSEWHERE = {
    # What is no reference is refused before it is asked about.
    "InvalidReference",
}
DELIVER = "To deliver, 7. Then try the delivery again."
COMMANDS = {"roles.py"}
"""What only commands call, whose words are English."""


def messages_of(path: Path) -> Iterator[str]:
    """Yield each text that an error of ours, or a refused page, is made with in a file.

    A figure stands for what is filled in. A text that passes through gettext is a call, not a
    text, and left out.
    """
    errors = set(exceptions.__all__) - ELSEWHERE
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in errors and node.args and (text := literal(node.args[0])):
            yield text
        if node.func.id == "_refuse" and path.name == "resources.py":
            yield f"Page 7 “Tea” {literal(node.args[1])}."


def literal(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) or "7" for part in node.values)
    return ""


FOUND = sorted(
    {
        text
        for path in (
            *(PACKAGE / name for name in FILES),
            *(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")),
        )
        if path.name not in COMMANDS
        for text in messages_of(path)
    }
    - {"7 7."}  # the two pieces of a refused page, which are looked at whole
    - {f"The handler gave nothing: it returned a 7, which nobody runs. {DELIVER}"}
    - {"7 listed pages cannot be told apart: 7"}  # the summary of a sync says it in its own words
)


def test_the_errors_are_found() -> None:
    assert len(FOUND) > 40
    assert "The service does not know it now." in FOUND


@pytest.mark.parametrize("text", FOUND)
def test_each_sentence_of_ours_is_known_and_translated(text: str) -> None:
    sentence = find_sentence(text)
    assert sentence is not None, "add it to payments_pages/staff/sentences.py"
    assert str(sentence) == text, "in English it reads as it was written"
    for language in ("ar", "he"):
        with translation.override(language):
            assert str(sentence) != text


@pytest.mark.parametrize(
    "payload",
    [
        {"id": 7, "name": "Tea"},
        {"id": 7},
        {"name": "Tea"},
        {},
        {"id": 7, "slug": "tea", "name": "Tea", "amount": "x"},
        {"id": 7, "slug": "tea", "name": "Tea", "amount": -3},
    ],
)
def test_a_page_that_is_left_out_is_named_in_the_readers_language(
    payload: dict[str, object],
) -> None:
    with pytest.raises(UnreadablePage) as caught:
        PageResource.from_payload(payload)
    text = str(caught.value)
    assert translate_error(text) == text
    with translation.override("ar"):
        told = translate_error(text)
    assert "age" not in told
    assert ("Tea" in told) == ("Tea" in text)


@pytest.mark.parametrize(
    "url",
    ["https://é", "ftp://x", "https://a@b", "https://a/../b", "http://a.example", "https://["],
)
def test_what_is_wrong_with_an_address_is_in_the_readers_language(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        checked_base_url(url)
    with translation.override("he"):
        told = translate_error(str(caught.value))
    assert "URL" not in told
    assert " is " not in told
    assert "may" not in told
    assert "must" not in told


def test_what_a_handler_must_be_is_in_the_readers_language() -> None:
    text = (
        "The handler gave nothing: it returned a coroutine, which nobody runs. "
        f"To deliver, {PLAIN_FUNCTION}. Then try the delivery again."
    )
    with translation.override("ar"):
        told = str(quoted_error(f"PermanentFulfilmentError: {text}"))
    assert "handler" not in told
    assert '<bdi dir="auto">def deliver(fulfilment)</bdi>' in told


@pytest.mark.parametrize(
    "doing",
    ["renew_lease() was called", "The service was called (fetch_page)",
     "A reference was sent to the workers"],
)  # fmt: skip
@pytest.mark.django_db(transaction=True)
def test_a_call_that_its_caller_may_not_make_is_told_in_the_readers_language(
    doing: str,
) -> None:
    with db_transaction.atomic(), pytest.raises(OpenTransactionError) as caught:
        refuse_open_transaction(doing)
    with translation.override("he"):
        told = translate_error(str(caught.value))
    assert "rollback" not in told
    assert " was " not in told


def test_what_others_said_is_quoted_as_it_came() -> None:
    stored = "RequestRefused: The service refuses the request: No <b>such</b> thing"
    with translation.override("ar"):
        told = str(quoted_error(stored))
        other = str(quoted_error("RuntimeError: All seats are taken."))
    assert told.startswith("ترفض الخدمة الطلب: ")
    assert '<bdi dir="auto">No &lt;b&gt;such&lt;/b&gt; thing</bdi>' in told
    assert other == '<q class="pp-own" dir="auto">All seats are taken.</q>'


def test_a_name_that_is_like_a_piece_of_ours_is_no_piece() -> None:
    with translation.override("ar"):
        assert "A page" in translate_error("Page 7 “A page” has no usable slug.")
        assert "A page" in translate_error("The service refuses the request: A page")


@pytest.mark.parametrize(
    ("stored", "parts"),
    [
        ("NotFound: x", ("NotFound", "x")),
        ("not asked: x", ("", "not asked: x")),
        ("Not recorded: IntegrityError at a.py:3", ("", "Not recorded: IntegrityError at a.py:3")),
        ("", ("", "")),
    ],
)
def test_the_class_of_a_stored_error_is_told_from_its_text(
    stored: str, parts: tuple[str, str]
) -> None:
    assert split_class(stored) == parts
