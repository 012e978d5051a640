"""Run the service's double in a process of its own, so that its work is not taken for ours."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Double", "running_double"]

ROOT = Path(__file__).resolve().parent.parent.parent.parent
SLUG = "tea-box"


@dataclass(frozen=True, slots=True)
class Double:
    """Say where the double is, its page as the service describes it, and what was paid there."""

    base_url: str
    pay_url: str
    page: dict[str, Any]
    references: list[str]


@contextmanager
def running_double(payments: int, latency: float = 0.0) -> Iterator[Double]:
    """Serve `payments` paid references; each verify answers after `latency` seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.capacity.double", str(payments), str(latency)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Double(**json.loads(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()


def _serve(payments: int, latency: float) -> None:
    from payments_pages.sandbox import Sandbox

    with Sandbox(secret_key="sk_test_bench", currency="ILS") as sandbox:
        page = sandbox.add_page(name="Tea box", slug=SLUG, amount=10000)
        emails = (f"payer{number}@example.test" for number in range(payments))
        references = [sandbox.pay(SLUG, email=email) for email in emails]
        if latency:
            sandbox.faults.add(operation="verify", kind="latency", seconds=latency)
        where = {"base_url": sandbox.base_url, "pay_url": sandbox.pay_url}
        print(json.dumps({**where, "page": page, "references": references}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), float(sys.argv[2]))
