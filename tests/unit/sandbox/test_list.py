"""Listing: paging and dates (interface: List pages)."""

from typing import Any

import pytest

from payments_pages.sandbox import Sandbox


def fill(sandbox: Sandbox, count: int) -> list[int]:
    """Make pages a day apart and return their ids, newest first."""
    ids = [
        sandbox.add_page(name=f"Page {day}", createdAt=f"2024-03-{day:02}T12:00:00.000Z")["id"]
        for day in range(1, count + 1)
    ]
    return ids[::-1]


def ids(answer: Any) -> list[int]:
    return [page["id"] for page in answer.json()["data"]]


def test_fifty_pages_are_listed_unless_said_otherwise(sandbox: Sandbox, api: Any) -> None:
    made = [sandbox.add_page()["id"] for _ in range(51)][::-1]
    answer = api("GET", "/page")
    assert answer.json()["status"] is True
    assert answer.json()["message"] == "Pages retrieved"
    assert ids(answer) == made[:50]
    assert ids(api("GET", "/page", params={"page": 2})) == made[50:]
    assert answer.json()["meta"] == {
        "total": 51, "skipped": 0, "perPage": 50, "page": 1, "pageCount": 2,
    }  # fmt: skip


def test_pages_are_dealt_out_newest_first_without_gaps(sandbox: Sandbox, api: Any) -> None:
    made = fill(sandbox, 7)
    answers = [api("GET", "/page", params={"perPage": 3, "page": n}) for n in (1, 2, 3, 4)]
    assert [ids(answer) for answer in answers] == [made[:3], made[3:6], made[6:], []]
    assert [answer.json()["meta"]["skipped"] for answer in answers] == [0, 3, 6, 9]
    assert {answer.json()["meta"]["pageCount"] for answer in answers} == {3}


def test_nothing_to_list_is_no_page(api: Any) -> None:
    answer = api("GET", "/page").json()
    assert (answer["data"], answer["meta"]["total"], answer["meta"]["pageCount"]) == ([], 0, 0)


def test_an_exact_multiple_makes_no_page_more(sandbox: Sandbox, api: Any) -> None:
    fill(sandbox, 6)
    assert api("GET", "/page", params={"perPage": 3}).json()["meta"]["pageCount"] == 2


def test_c58_a_page_created_between_two_fetches_shifts_the_rest(sandbox: Sandbox, api: Any) -> None:
    made = fill(sandbox, 4)
    sandbox.faults.add(kind="run", operation="list", times=1, function=sandbox.add_page)
    first = ids(api("GET", "/page", params={"perPage": 2, "page": 1}))
    second = ids(api("GET", "/page", params={"perPage": 2, "page": 2}))
    assert (first, second) == (made[:2], made[1:3])


@pytest.mark.parametrize(
    ("params", "days"),
    [
        ({"from": "2024-03-04"}, [5, 4]),
        ({"to": "2024-03-02"}, [1]),
        ({"from": "2024-03-02", "to": "2024-03-04"}, [3, 2]),
        ({"from": "2024-03-04T12:00:00Z"}, [5, 4]),
        ({"from": "2024-03-04T12:00:00.001Z"}, [5]),
        ({"to": "2024-03-01T12:00:00.000Z"}, [1]),
        ({"from": "2024-03-04T13:00:00+02:00", "to": "2024-03-04T14:00:00+02:00"}, [4]),
        ({"from": "2025-01-01"}, []),
    ],
)
def test_times_bound_the_list(
    sandbox: Sandbox, api: Any, params: dict[str, str], days: list[int]
) -> None:
    fill(sandbox, 5)
    answer = api("GET", "/page", params=params).json()
    assert [page["name"] for page in answer["data"]] == [f"Page {day}" for day in days]
    assert answer["meta"]["total"] == len(days)


@pytest.mark.parametrize(
    "params",
    [
        {"perPage": "0"}, {"perPage": "-1"}, {"perPage": "many"}, {"perPage": "٣"}, {"page": "0"},
        {"page": "1.5"}, {"page": "9" * 30}, {"from": "yesterday"}, {"to": "2024-02-30"},
    ],
)  # fmt: skip
def test_parameters_that_are_none_are_refused(api: Any, params: dict[str, str]) -> None:
    answer = api("GET", "/page", params=params)
    assert (answer.status_code, answer.json()["status"]) == (400, False)


def test_a_maximum_of_the_account_is_kept_silently(sandbox: Sandbox, api: Any) -> None:
    fill(sandbox, 5)
    sandbox.set_account(max_per_page=2)
    answer = api("GET", "/page", params={"perPage": 100}).json()
    assert (len(answer["data"]), answer["meta"]["perPage"]) == (2, 2)
    assert len(api("GET", "/page", params={"perPage": 1}).json()["data"]) == 1
