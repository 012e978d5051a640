"""Let many confirm payments at the same moment: payers, popups, webhooks, staff's commands."""

import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import requests

from example_project.demo import starter
from example_project.demo.parts import ROOT
from example_project.demo.starter import READY

__all__ = ["Answers", "Rush"]

_TIMEOUT = 60

_AGAIN = 503
"""The status by which a webhook's door asks for the event once more, and says when."""


@dataclass(slots=True)
class Answers:
    """Count what came back by door: HTTP status codes, or a command's exit codes; and troubles.

    A webhook that was asked to come again counts once, with the status of its last sending.
    """

    codes: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    sent_again: int = 0
    troubles: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Return how many answered."""
        return sum(counts.total() for counts in self.codes.values())

    @property
    def failed(self) -> dict[str, int]:
        """Return the HTTP statuses that no door may answer here, as `door status`, counted.

        A webhook that got no answer is told as status 0.
        """
        return {
            f"{door} {code}": count
            for door, counts in self.codes.items()
            if door != "command"
            for code, count in counts.items()
            if not 200 <= code < 400
        }


class Rush:
    """Gather errands at one line; `go()` lets them all leave at once and counts the answers."""

    def __init__(self, *, site: str, control: str, environment: Mapping[str, str]) -> None:
        self._doors = f"{site}/payments"
        self._control = control
        self._environment = environment
        self._errands: list[Callable[[], None]] = []
        self._answers = Answers()
        self._lock = threading.Lock()
        self._line = threading.Barrier(1, timeout=_TIMEOUT)

    def callback(self, address: str) -> None:
        """Add a payer who comes back to an address."""
        self._add("callback", lambda session: [_status(session, "GET", address)])

    def confirm(self, reference: str) -> None:
        """Add a popup or an app that hands a reference over."""
        body, address = {"reference": reference}, f"{self._doors}/confirm/"
        self._add("confirm", lambda session: [_status(session, "POST", address, body)])

    def webhook(self, reference: str) -> None:
        """Add a webhook, which the sandbox signs and sends, and sends again if it is asked to."""
        body = {"reference": reference, "url": f"{self._doors}/webhook/"}

        def send(session: requests.Session) -> list[int]:
            end = time.monotonic() + _TIMEOUT
            while (status := self._send(session, body)) == _AGAIN and time.monotonic() < end:
                with self._lock:
                    self._answers.sent_again += 1
                time.sleep(1)
            return [status]

        self._add("webhook", send)

    def _send(self, session: requests.Session, body: Mapping[str, str]) -> int:
        answer = session.post(f"{self._control}/webhooks", json=body, timeout=_TIMEOUT)
        answer.raise_for_status()
        (status,) = answer.json()["statuses"]
        return int(status)

    def command(self, reference: str) -> None:
        """Add `payments_pages_confirm` in a process of its own, ready before anybody leaves."""

        def run() -> None:
            with self._start(reference) as process:
                ready = process.stdout is not None and process.stdout.readline().strip() == READY
                self._line.wait()
                output, _ = process.communicate("go\n", timeout=_TIMEOUT)
            with self._lock:
                self._answers.codes["command"][process.returncode] += 1
                # 1 is an answer too: "not delivered as far as I can see", with its reason.
                if not ready or process.returncode not in {0, 1} or "Traceback" in output:
                    self._answers.troubles.append(f"command: {output.strip()[-500:]}")

        self._errands.append(run)

    def go(self) -> Answers:
        """Let everybody leave at once; return when all have answered."""
        self._line = threading.Barrier(len(self._errands), timeout=_TIMEOUT)
        threads = [threading.Thread(target=errand) for errand in self._errands]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self._answers

    def _add(self, door: str, ask: Callable[[requests.Session], list[int]]) -> None:
        def run() -> None:
            with requests.Session() as session:
                # A proxy or .netrc of this machine's user has no part in this.
                session.trust_env = False
                self._line.wait()
                try:
                    codes = ask(session)
                except requests.RequestException as error:
                    with self._lock:
                        self._answers.troubles.append(f"{door}: {type(error).__name__}")
                    return
            with self._lock:
                self._answers.codes[door].update(codes)

        self._errands.append(run)

    def _start(self, reference: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", starter.__name__, "payments_pages_confirm", reference],
            cwd=ROOT,
            env={**self._environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def _status(
    session: requests.Session, method: str, address: str, body: Mapping[str, str] | None = None
) -> int:
    answer = session.request(method, address, json=body, allow_redirects=False, timeout=_TIMEOUT)
    return answer.status_code
