"""Send thousands of requests made from docs/openapi.yaml to the example site: no error may come.

Starts the example project and a sandbox on free ports, with a database of their own, drives
schemathesis (group `dev`) against the site, and stops them. 503 is the one documented answer
above 499, and only the webhook may give it here, when a signed success is about a payment that the
sandbox does not know.

    python -m tests.reliability.fuzz [--examples 2000]
"""

import argparse
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
DESCRIPTION = ROOT / "docs" / "openapi.yaml"
OPERATIONS = 3
CHECKS = (
    "status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)
# The references of the description's examples, as the sandbox shall know them.
PAYMENTS = {"PPG-1001": "success", "PPG-1002": "reversed"}


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(
    name: str, arguments: list[str], environment: Mapping[str, str], folder: Path
) -> Iterator[None]:
    """Run a part of the site during the block; its output goes to a file."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)


def wait_for(url: str) -> None:
    """Wait until a part answers; give up after half a minute."""
    for _turn in range(300):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"fuzz: nothing answers at {url}")


def fuzz(site: str, environment: Mapping[str, str], examples: int, folder: Path) -> str:
    """Run schemathesis; return what it printed. Exit with its status when it finds something."""
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", str(DESCRIPTION),
            f"--url={site}/payments", f"--checks={CHECKS}", "--phases=examples,coverage,fuzzing",
            f"--max-examples={-(-examples // OPERATIONS)}", "--workers=1", "--no-color",
            "--no-shrink", "--continue-on-failure", "--warnings=off",
        ],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout[-8000:])
        for log in folder.glob("*.log"):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}")
        raise SystemExit(done.returncode)
    return done.stdout


def main() -> None:
    """Start both sides, send the requests, count the answers; exit 1 for a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=int, default=2000, help="at least as many requests")
    examples = parser.parse_args().examples
    began = time.monotonic()
    site, sandbox = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fuzz-")))
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.reliability.fuzz.settings",
            "SECRET_KEY": secrets.token_urlsafe(50),
            "DEBUG": "off",
            "DATABASE_URL": f"sqlite:///{folder / 'fuzz.sqlite3'}",
            "SITE_URL": site,
            "SERVICE_URL": sandbox,
            "PAYMENTS_SECRET_KEY": "sk_test_fuzz",
            "PAYMENTS_WEBHOOK_HEADER": "X-Lahza-Signature",
            "PAYMENTS_WEBHOOK_ALGORITHM": "sha256",
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.reliability.fuzz.signing",
        }
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
        subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
        port = sandbox.rsplit(":", 1)[1]
        service = ["-m", "payments_pages.sandbox", f"--port={port}", "--secret-key=sk_test_fuzz"]
        stack.enter_context(running("sandbox", service, environment, folder))
        serve = ["manage.py", "runserver", "--noreload", "--insecure", site.split("//")[1]]
        stack.enter_context(running("site", serve, environment, folder))
        wait_for(f"{sandbox}/_sandbox/state")
        for reference, status in PAYMENTS.items():
            body = f'{{"reference": "{reference}", "status": "{status}"}}'.encode()
            urllib.request.urlopen(f"{sandbox}/_sandbox/transactions", body, timeout=5).close()
        wait_for(f"{site}/")
        said = fuzz(site, environment, examples, folder)
        log = (folder / "site.log").read_text(errors="replace")
    answered = re.findall(r'"[A-Z]+ /payments/(\w*).*" (\d{3}) ', log)
    expected = {("webhook", "503")}
    faults = [one for one in answered if one[1] >= "500" and one not in expected]
    print(said[-600:])
    print(f"{len(answered)} requests in {time.monotonic() - began:.0f} s:")
    for (door, status), count in sorted(Counter(answered).items()):
        print(f"  {door} {status}: {count}")
    if faults or len(answered) < examples:
        raise SystemExit("fuzz: an unexpected 5xx came, or fewer requests than asked for")


if __name__ == "__main__":
    main()
