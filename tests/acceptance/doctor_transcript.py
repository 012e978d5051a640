"""Run the doctor on the demo: healthy, and with one thing after the other broken.

    .venv/bin/python tests/acceptance/doctor_transcript.py            print it
    .venv/bin/python tests/acceptance/doctor_transcript.py --write    into docs/doctor.md

Starts the demo on free ports, in a database of its own, behind a proxy, and stops it. The service,
too, is behind a proxy: so both can be broken without a change of the demo.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from example_project.demo.addresses import Addresses
    from example_project.demo.control import Control
    from tests.support.front import Front

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

PAGE = ROOT / "docs" / "doctor.md"
BLOCK = re.compile(r"(<!-- transcript -->\n).*(<!-- /transcript -->)", re.DOTALL)
SETTINGS = "settings_of_transcript"
COMMAND = "python manage.py payments_pages_doctor"
HEADER = "x-lahza-signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that is broken: at the proxies, at the service, or in the doctor's settings."""

    name: str
    break_it: Callable[["Demo"], object] = lambda _demo: None
    settings: str = ""


@dataclass(slots=True)
class Demo:
    """The running demo, and the way to its parts.

    `site`, `service`: the proxies in front of both. `shown`: each port of this run, and the one
    that the docs show.
    """

    site: "Front"
    service: "Front"
    control: "Control"
    directory: Path
    shown: dict[int, int] = field(default_factory=dict)

    def look(self, lines: str = "") -> tuple[str, int]:
        """Run the doctor with these lines at the end of its settings; return text and exit code."""
        text = f"from example_project.settings import *\n{lines}\n"
        (self.directory / f"{SETTINGS}.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "manage.py", "payments_pages_doctor"],
            cwd=ROOT,
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": SETTINGS,
                "PYTHONPATH": str(self.directory),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        said = done.stdout + done.stderr
        for port, shown in self.shown.items():
            said = said.replace(f":{port}", f":{shown}")
        # Within a second, by when the clock was read.
        return re.sub(r"\b3(599|600) s\b", "3600 s", said), done.returncode


FAULTS = (
    Fault(
        name="A dead address",
        settings='PAYMENTS_PAGES["BASE_URL"] = "http://127.0.0.1:9/api"',
    ),
    Fault(name="A wrong key", settings='PAYMENTS_PAGES["SECRET_KEY"] = "sk_test_of_another"'),
    Fault(name="A key of the other mode", settings='PAYMENTS_PAGES["MODE"] = "live"'),
    Fault(
        name="Another clock at the service",
        break_it=lambda demo: setattr(demo.service, "seconds", 3600),
    ),
    Fault(
        name="A cache per process",
        settings='CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}',
    ),
    Fault(
        name="A webhook behind a redirect",
        break_it=lambda demo: setattr(demo.site, "redirects_to", demo.site.behind),
    ),
    Fault(
        name="A wrong header",
        settings='PAYMENTS_PAGES["WEBHOOK_HEADER"] = "x-paystack-signature"',
    ),
    Fault(
        name="A proxy that eats the signature's header",
        break_it=lambda demo: setattr(demo.site, "removes", [HEADER]),
    ),
    Fault(
        name="Drift: a page was switched off at the service",
        break_it=lambda demo: demo.control.post("pages/oud-evening", active=False),
    ),
)


def transcript() -> Iterator[str]:
    """Yield the lines of the transcript; the demo runs until the last one is taken."""
    from django.core.management import call_command

    from example_project.demo.addresses import Addresses, free_port, sqlite_url

    with tempfile.TemporaryDirectory(prefix="doctor-") as name:
        directory = Path(name)
        ports = [free_port() for _port in range(4)]
        addresses = Addresses(site_port=ports[0], sandbox_port=ports[1])
        os.environ |= addresses.environment(sqlite_url(directory / "shop.sqlite3"))
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "example_project.settings",
            "SITE_URL": f"http://127.0.0.1:{ports[2]}",
            "CACHE_URL": f"filecache://{directory / 'cache'}",
        }
        django.setup()
        for demo in running(directory, addresses, ports):
            yield from told(demo, "No sweep")
            call_command("payments_pages_sweep")
            yield from told(demo, "Healthy")
            for fault in FAULTS:
                yield from told(demo, fault.name, fault)


def running(directory: Path, addresses: "Addresses", ports: list[int]) -> Iterator[Demo]:
    """Yield the demo once, started and with something to sell."""
    from example_project.demo.control import Control
    from example_project.demo.parts import Parts
    from example_project.demo.running import furnish, start_site
    from example_project.demo.storage import Storage
    from tests.support.front import Front

    storage = Storage(directory)
    site_url, service_url = (f"http://127.0.0.1:{port}" for port in ports[2:])
    service = {
        "PAYMENTS_BASE_URL": f"{service_url}/api",
        "PAYMENTS_PAY_URL": f"{service_url}/pay",
    }
    with (
        Parts(environment={}, logs=storage.logs) as parts,
        Front(addresses.site, port=ports[2]) as site,
        Front(addresses.sandbox, port=ports[3]) as front,
    ):
        furnish(parts, addresses, storage, lambda _text: None, fresh=False, history=False)
        start_site(parts, addresses)
        os.environ |= service
        demo = Demo(site, front, Control(addresses.control), directory)
        demo.shown = {ports[0]: 8443, ports[1]: 8001, ports[2]: 8000, ports[3]: 8001}
        assert site.url == site_url
        yield demo


def told(demo: Demo, name: str, fault: Fault | None = None) -> Iterator[str]:
    """Yield a heading, and what the doctor says: all of a healthy site, else what is not right."""
    before = vars(demo.site).copy(), vars(demo.service).copy()
    if fault is not None:
        fault.break_it(demo)
    said, code = demo.look(fault.settings if fault else "")
    vars(demo.site).update(before[0])
    vars(demo.service).update(before[1])
    lines = said.splitlines()
    if code:
        lines = [line for line in lines if not line.startswith("right ")]
    yield from (f"### {name}", "", "```console", f"$ {COMMAND}", *lines, f"$ echo $?\n{code}")
    yield from ("```", "")


def written(page: str, lines: list[str]) -> str:
    """Return the page with this transcript."""
    text = "\n".join(lines)
    return BLOCK.sub(lambda found: f"{found[1]}{text}{found[2]}", page)


if __name__ == "__main__":
    found = list(transcript())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(written(PAGE.read_text(), found))
    else:
        print("\n".join(found))
