"""Dates in words, in three languages and at every change of clocks."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import translation

from payments_pages.views.dates import in_words

NOVEMBER = datetime(2026, 11, 28, 14, 39, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "28 November 2026, 16:39 (Hebron time)"),
        ("ar", "28 تشرين الثاني 2026، 16:39 (بتوقيت الخليل)"),
        ("he", "28 בנובמבר 2026, 16:39 (שעון חברון)"),
    ],
)
def test_a_date_is_written_in_words(language: str, words: str) -> None:
    with translation.override(language):
        assert in_words(NOVEMBER) == words


@pytest.mark.parametrize("language", ["en", "ar", "he"])
def test_each_month_has_a_name_of_its_own(language: str) -> None:
    with translation.override(language):
        dates = {in_words(datetime(2026, month, 3, tzinfo=UTC)) for month in range(1, 13)}
    names = {date.split()[1] for date in dates}
    # Two Arabic months begin with the same word: "kanun", "tishrin".
    assert len(dates) == 12
    assert len(names) == (10 if language == "ar" else 12)


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("Asia/Jerusalem", "28 November 2026, 16:39 (Jerusalem time)"),
        ("Asia/Amman", "28 November 2026, 17:39 (Amman time)"),
        ("UTC", "28 November 2026, 14:39 (UTC+0)"),
        ("Asia/Kolkata", "28 November 2026, 20:09 (UTC+5:30)"),
        ("America/St_Johns", "28 November 2026, 11:09 (UTC-3:30)"),
    ],
)
def test_a_zone_without_a_name_is_told_by_its_distance(
    settings: Any, zone: str, words: str
) -> None:
    settings.TIME_ZONE = zone
    assert in_words(NOVEMBER) == words


def test_c63_the_hour_that_comes_twice_says_which_it_is() -> None:
    first, second = (datetime(2024, 10, 25, hour, 30, tzinfo=UTC) for hour in (22, 23))
    assert in_words(first) == "26 October 2024, 01:30 (Hebron time, UTC+3)"
    assert in_words(second) == "26 October 2024, 01:30 (Hebron time, UTC+2)"


def test_no_time_is_no_words() -> None:
    assert in_words(None) == ""


def test_a_time_that_the_zone_does_not_have_is_no_words() -> None:
    assert in_words(datetime(9999, 12, 31, 23, 59, tzinfo=UTC)) == ""
