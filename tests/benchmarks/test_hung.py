"""The measurement of a service that hangs asks what it says, and the documentation shows it."""

from tests.benchmarks.hung import BEGIN, END, PAGE, Answered, come, site_of


def test_half_of_the_threads_ask_and_the_others_answer() -> None:
    with site_of(16) as (site, answers):
        answers.hang()
        answers.counts()
        payers, others = come(site, 3)
        calls = answers.counts()["calls"]
    assert (payers.of, others.of) == (60, 60)
    assert 8 <= sum(calls.values()) <= 16
    assert len(others.times) > 8  # with all sixteen threads hanging nobody would be answered


def test_who_was_not_answered_counts_as_never() -> None:
    answered = Answered(of=4, times=[0.001, 0.002])
    assert [answered.part(0.0), answered.part(0.25), answered.part(0.5)] == [
        "1 ms",
        "2 ms",
        "never",
    ]


def test_the_documentation_shows_the_table() -> None:
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    for threads in (8, 16, 32, 64):
        assert f"| {threads} | 300 of 300 |" in shown
