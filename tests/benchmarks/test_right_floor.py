"""The right floor is right: it delivers once, also if it is killed. The bare floor does not."""

import os
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.callbacks.databases import SQLITE, new_database
from tests.benchmarks.callbacks.events import webhook_request
from tests.benchmarks.callbacks.load import Request, rush, together
from tests.benchmarks.callbacks.servers import (
    ROOT,
    Answers,
    Site,
    answering,
    environment,
    recorded,
    serving,
)
from tests.benchmarks.callbacks.sites import FLOOR, RIGHT_FLOOR, sites

ANSWER = (
    b'{"status": true, "data": {"reference": "RR", "status": "success", "amount": 10000, '
    b'"currency": "ILS", "domain": "test"}}'
)
LEASE = 0.5
STATEMENTS = 3

pytestmark = pytest.mark.xdist_group("benchmarks")


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with answering(recorded(ANSWER, "RR")) as running:
        yield running


def address() -> str:
    url = os.environ.get("DATABASE_URL", "")
    return url if url.startswith("postgres") else SQLITE


def prepared(name: str, answers: Answers, folder: Path) -> Iterator[Site]:
    (site,) = (one for one in sites() if one.name == name)
    with new_database(address(), f"proof {uuid.uuid4().hex[:8]}", folder) as database:
        site.environment |= environment(site.module, answers, database)
        site.environment["BENCH_LEASE"] = str(LEASE)
        site.callback = site.run("prepare", [])["callback"]
        yield site


@pytest.fixture(scope="module")
def site(answers: Answers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from prepared(RIGHT_FLOOR, answers, tmp_path_factory.mktemp("right"))


@pytest.fixture(scope="module")
def bare(answers: Answers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from prepared(FLOOR, answers, tmp_path_factory.mktemp("bare"))


def visit(site: Site, reference: str, side: str = "before", number: int = 99) -> int:
    command = [sys.executable, "-m", "tests.benchmarks.callbacks.site.dying"]
    command += [site.callback.format(reference), side, str(number)]
    done = subprocess.run(
        command, env=site.environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 9}, done.stderr[-2000:]
    return done.returncode


def test_it_needs_three_statements_and_two_commits(site: Site) -> None:
    costs = site.run("count", ["COUNT-0", "COUNT-1", "COUNT-2"])["costs"]
    assert (costs["first"]["statements"], costs["first"]["commits"]) == (STATEMENTS, 2)
    assert costs["settled"]["statements"] == 2


@pytest.mark.parametrize("number", range(1, STATEMENTS + 1))
@pytest.mark.parametrize("side", ["before", "after"])
def test_killed_at_any_statement_it_delivers_once_when_the_payer_comes_again(
    site: Site, side: str, number: int
) -> None:
    reference = f"KILLED-{side}-{number}"
    assert visit(site, reference, side, number) == 9
    time.sleep(LEASE + 0.1)
    assert [visit(site, reference), visit(site, reference)] == [0, 0]
    assert site.run("delivered", [reference]) == {reference: 1}


def test_the_bare_floor_delivers_twice_to_who_comes_again(bare: Site) -> None:
    assert [visit(bare, "TWICE"), visit(bare, "TWICE")] == [0, 0]
    assert bare.run("delivered", ["TWICE"]) == {"TWICE": 2}


def test_of_two_who_come_at_once_after_a_killed_one_one_asks(site: Site, answers: Answers) -> None:
    assert visit(site, "LOST", "after", 1) == 9
    time.sleep(LEASE + 0.1)
    answers.counts()
    command = [sys.executable, "-m", "tests.benchmarks.callbacks.site.dying"]
    command += [site.callback.format("LOST"), "before", "99"]
    both = [subprocess.Popen(command, env=site.environment, cwd=ROOT) for _one in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    assert site.run("delivered", ["LOST"]) == {"LOST": 1}
    assert answers.counts()["calls"] == {"LOST": 1}


def test_who_is_late_with_the_answer_neither_records_nor_delivers(site: Site) -> None:
    command = [sys.executable, "-m", "tests.benchmarks.callbacks.site.dying"]
    command += [site.callback.format("LATE"), "pause", "0"]
    late = subprocess.Popen(command, env=site.environment, cwd=ROOT)
    time.sleep(2 + LEASE)  # by then it has claimed, and its lease is over
    assert visit(site, "LATE") == 0
    assert site.run("delivered", ["LATE"]) == {"LATE": 1}
    assert late.poll() is None, "it has its answer still before it"
    assert late.wait() == 0
    assert site.run("delivered", ["LATE"]) == {"LATE": 1}


def test_many_at_the_same_moment_deliver_once_with_one_call(
    site: Site, answers: Answers, tmp_path: Path
) -> None:
    references = [f"RUSH-{number}" for number in range(20)]
    visits = [Request(site.callback.format(reference)) for reference in references]
    answers.counts()
    with serving(site, tmp_path / "log"):
        load = together(site.port, visits, times=8)
        event = rush(site.port, [webhook_request(site, references[0])], lines=1)
    assert (load.statuses, event.statuses) == ({302: 160}, {200: 1})
    assert answers.counts()["calls"] == dict.fromkeys(references, 1)
    assert site.run("delivered", references) == dict.fromkeys(references, 1)


@pytest.mark.parametrize(
    "wrong",
    [b'"status": "failed"', b'"amount": 9999', b'"currency": "USD"', b'"domain": "live"'],
)
def test_what_is_not_paid_right_is_not_delivered(tmp_path: Path, wrong: bytes) -> None:
    name = wrong.split(b":")[0]
    start = ANSWER.index(name, ANSWER.index(b"data"))
    end = min(ANSWER.find(mark, start) for mark in (b",", b"}") if ANSWER.find(mark, start) > 0)
    answer = ANSWER[:start] + wrong + ANSWER[end:]
    with answering(recorded(answer, "RR")) as answers:
        for site in prepared(RIGHT_FLOOR, answers, tmp_path):
            assert visit(site, "NOT-PAID") == 0
            assert visit(site, "NOT-PAID") == 0
            assert site.run("delivered", ["NOT-PAID"]) == {}
            with urllib.request.urlopen(f"{answers.url.removesuffix('/api')}/counts") as response:
                assert b'"NOT-PAID": 2' in response.read()
