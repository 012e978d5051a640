"""What may not show does not show, wherever it stands in a text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments_pages.redaction import REMOVED, redact

ANY_TEXT = st.text(max_size=200)
KEYS = st.from_regex(r"sk_(test|live)_[A-Za-z0-9]{8,40}", fullmatch=True)


@pytest.mark.parametrize(
    "secret",
    [
        "sk_test_LEAKME0001",
        "SK_LIVE_LEAKME0001",
        "pk_live_LEAKME0001",
        "AUTH_LEAKCODE1",
        "Bearer LEAKME.token-1",
        "payer@example.test",
        "<payer+tag@example.test>",
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "٤١١١١١١١١١١١١١١١",
    ],
)
def test_what_looks_like_a_secret_is_removed(secret: str) -> None:
    assert redact(f"before {secret} after") == f"before {REMOVED} after"


@pytest.mark.parametrize(
    "text", ["id 9223372036854775808123", "amount 10000", "a @ b", "task_list"]
)
def test_ordinary_words_and_figures_stay(text: str) -> None:
    assert redact(text) == text


def test_control_characters_cannot_forge_a_log_line() -> None:
    assert redact("a\r\nERROR b\x00c\u202ed\u2028e\ud800f") == "a ERROR b c d e f"


def test_a_secret_with_a_trailing_newline_is_removed() -> None:
    assert redact("the key topsecret-9 leaks", "topsecret-9\n") == f"the key {REMOVED} leaks"


def test_a_secret_inside_another_goes_with_the_longer_one() -> None:
    assert redact("longsecret-1-and-more", "longsecret-1", "longsecret-1-and-more") == REMOVED


def test_a_blank_secret_removes_nothing() -> None:
    assert redact("plain words", "", " ") == "plain words"


def test_a_secret_is_removed_before_the_cut() -> None:
    assert "LEAKME" not in redact("x" * 40 + " sk_test_LEAKMELEAKME", limit=52)


@given(before=ANY_TEXT, key=KEYS, after=ANY_TEXT, limit=st.integers(1, 500))
def test_a_key_never_leaks(before: str, key: str, after: str, limit: int) -> None:
    shown = redact(before + key + after, key, limit=limit)
    assert key not in shown
    assert key[8:] not in shown
    assert len(shown) <= limit


@given(before=ANY_TEXT, secret=st.from_regex(r"[!-?A-~]{12,60}", fullmatch=True), after=ANY_TEXT)
def test_a_given_secret_never_leaks_whatever_it_looks_like(
    before: str, secret: str, after: str
) -> None:
    assert secret not in redact(before + secret + after, secret)


@given(ANY_TEXT)
def test_the_result_is_one_line_without_control_characters(text: str) -> None:
    shown = redact(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)
    assert len(shown.splitlines()) <= 1


def test_a_very_long_text_is_quick() -> None:
    assert len(redact("a.b-" * 250_000 + "@" + "1 " * 250_000)) == 500
