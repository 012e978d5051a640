"""Measure what a service that hangs leaves of a site, with as many threads as its server has.

    python -m tests.benchmarks.hung [--threads 8 16 32 64] [--seconds 15] [--write]

One process under gunicorn, on SQLite. Payers come back 20 times a second, each with a new
reference, and 20 times a second somebody opens a result page. The service takes connections and
answers nothing. A request's time counts from when it was due. `--write` puts the table into
docs/service-down.md.
"""

import argparse
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.__main__ import sandbox_answer
from tests.benchmarks.callbacks.databases import SQLITE, new_database
from tests.benchmarks.callbacks.load import Line, Request, rush
from tests.benchmarks.callbacks.report import rows
from tests.benchmarks.callbacks.servers import (
    ROOT,
    Answers,
    Site,
    answering,
    environment,
    recorded,
    serving,
)
from tests.benchmarks.callbacks.sites import OURS, sites

PAGE = ROOT / "docs" / "service-down.md"
BEGIN, END = "<!-- hung -->", "<!-- end -->"
RATE = 20


@dataclass(frozen=True, slots=True)
class Answered:
    """How many of the requests were answered in time, and after how many seconds each."""

    of: int
    times: list[float]

    def part(self, share: float) -> str:
        """Return the time below which this share of all requests was answered."""
        place = int(self.of * share)
        return f"{self.times[place] * 1000:,.0f} ms" if place < len(self.times) else "never"


def main() -> None:
    """Measure with each number of threads; print, and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.hung", description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    options = parser.parse_args()
    lines = [measure(threads, options.seconds) for threads in options.threads]
    head = ["threads", "other requests answered", "their median", "their 99 %"]
    text = rows([*head, "callbacks answered", "calls"], lines)
    print(text)
    if options.write:
        page, pattern = PAGE.read_text(), f"{BEGIN}.*?{END}"
        found = f"{BEGIN}\n{text}\n{END}"
        PAGE.write_text(re.sub(pattern, lambda _match: found, page, flags=re.DOTALL))


def measure(threads: int, seconds: int) -> list[object]:
    """Return the line of the table for one number of threads."""
    with site_of(threads) as (site, answers):
        answers.hang()
        answers.counts()
        payers, others = come(site, seconds)
        calls = sum(answers.counts()["calls"].values())
    found = f"{len(others.times)} of {others.of}"
    payers_found = f"{len(payers.times)} of {payers.of}"
    return [threads, found, others.part(0.5), others.part(0.99), payers_found, calls]


@contextmanager
def site_of(threads: int) -> Iterator[tuple[Site, Answers]]:
    """Run our site, each of whose threads has served a payer."""
    (site,) = (one for one in sites() if one.name == OURS)
    with (
        answering(recorded(*sandbox_answer())) as answers,
        tempfile.TemporaryDirectory() as folder,
        new_database(SQLITE, site.name, Path(folder)) as database,
    ):
        site.environment |= environment(site.module, answers, database)
        site.callback = site.run("prepare", [])["callback"]
        site.result = site.run("count", [uuid.uuid4().hex, uuid.uuid4().hex])["result"]
        with serving(site, Path(folder) / "log", processes=1, threads=threads):
            warm = [Request(site.callback.format(uuid.uuid4().hex)) for _one in range(4 * threads)]
            rush(site.port, warm, lines=threads)
            yield site, answers


def come(site: Site, seconds: int) -> tuple[Answered, Answered]:
    """Let payers and others come at their rate; return what was answered before the time was over."""
    count = RATE * seconds
    payers = [Request(site.callback.format(uuid.uuid4().hex)) for _one in range(count)]
    others = [Request(site.result)] * count
    start, found = time.monotonic() + 0.5, {"payers": list[float](), "others": list[float]()}

    def ask(kind: str, request: Request, due: float) -> None:
        time.sleep(max(0.0, due - time.monotonic()))
        line = Line(site.port)
        status = line.ask(request.encoded())
        line.close()
        ended = time.monotonic()
        if status and ended < start + seconds + 1:
            found[kind].append(ended - due)

    threads = [
        threading.Thread(target=ask, args=(kind, request, start + number / RATE), daemon=True)
        for kind, requests in (("payers", payers), ("others", others))
        for number, request in enumerate(requests)
    ]
    for thread in threads:
        thread.start()
    time.sleep(max(0.0, start + seconds + 1 - time.monotonic()))
    return (
        Answered(count, sorted(found["payers"])),
        Answered(count, sorted(found["others"])),
    )


if __name__ == "__main__":
    main()
