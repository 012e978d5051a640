import pytest

from payments_pages.ids import parse_id


@pytest.mark.parametrize(("text", "found"), [("0", 0), ("42", 42), ("9" * 18, 10**18 - 1)])
def test_an_id_is_read(text: str, found: int) -> None:
    assert parse_id(text) == found
    assert found < 2**63


@pytest.mark.parametrize("text", ["", "-1", "1.0", " 1", "٤٢", "²", "x", "9" * 19, "1" * 5000])
def test_what_is_no_id_or_may_not_fit_64_bits_is_none(text: str) -> None:
    assert parse_id(text) is None
