"""Fixtures: a real sandbox over real HTTP, and the site's settings pointed at it."""

import gc
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import hypothesis
import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import connection, connections
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import translation

from payments_pages.client import GATES
from payments_pages.confirmation import forget_binding
from payments_pages.models import ExpectedPayment, PaymentPage
from payments_pages.pages.changes import slug_key
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from tests.support.brokers import why_left_out
from tests.support.chromium import find_chromium
from tests.support.clean_tables import empty_quickly
from tests.support.leak_detector import LeakDetector
from tests.support.scale import spread
from tests.support.webhook_signing import HEADER, SECRET

# A busy machine is no failure: time is for the benchmarks.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

empty_quickly()

KEY = "sk_test_suite"
LEFT_OUT = pytest.StashKey[bool]()
QUEUES_LEFT_OUT = pytest.StashKey[list[str]]()
BROWSER_TESTS_LEFT_OUT = (
    "The browser tests were left out: there is no Chromium on the PATH (Debian: chromium)."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--parameters`, for a leg whose other parameter sets run in another one."""
    parser.addoption(
        "--parameters",
        type=int,
        default=0,
        help="run each unit test with this many of its parameter sets, at even distances, and each "
        "test of interleavings with one",
    )
    parser.addoption(
        "--other-parameters",
        type=int,
        default=0,
        help="run each unit test with the sets that --parameters leaves out, and nothing else",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the browser tests out where there is no browser, those of queues where there is none."""
    browser = [item for item in items if item.get_closest_marker("browser")]
    if browser and find_chromium() is None:
        config.hook.pytest_deselected(items=browser)
        items[:] = [item for item in items if item not in browser]
        config.stash[LEFT_OUT] = True
    _leave_queues_out(config, items)
    _thin_out(config, items)
    _keep_together(items)


def _thin_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    most: int = config.getoption("--parameters")
    others: int = config.getoption("--other-parameters")
    if not most and not others:
        return
    functions: dict[tuple[str, bool], list[pytest.Item]] = {}
    for item in items:
        if "/unit/" not in item.nodeid and not ("/interleavings/" in item.nodeid and most):
            continue
        # `-m "not slow"` comes after this: the quick sets of a function are chosen by themselves.
        name, is_slow = item.nodeid.partition("[")[0], item.get_closest_marker("slow") is not None
        functions.setdefault((name, is_slow), []).append(item)
    for sets in functions.values():
        sets.sort(key=_place_of)  # pytest-randomly has shuffled them
    chosen = {
        item.nodeid
        for (name, _is_slow), sets in functions.items()
        for item in spread(sets, 1 if "/interleavings/" in name else most or others)
    }
    other = {item.nodeid for sets in functions.values() for item in sets} - chosen
    kept = other if others else {item.nodeid for item in items} - other
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


def _place_of(item: pytest.Item) -> list[int]:
    """Return where a parameter set stands among those of its function."""
    callspec: Any = getattr(item, "callspec", None)
    return [] if callspec is None else [*map(int, callspec.indices.values())]


def pytest_collection_finish() -> None:
    """Let Python's garbage collector leave alone what lives until the end: it looks at less."""
    gc.collect()
    gc.freeze()


# Folders and files whose single tests take up to a minute.
_LONGEST = ("interleavings", "state_machine", "test_admin_screens.py", "test_growth.py")


def _keep_together(items: list[pytest.Item]) -> None:
    """Give what shares a broker, or starts many processes, to one process of pytest-xdist's.

    They come first, and then the longest single tests: the process that has one works longest, and
    the others end meanwhile.
    """

    def place(item: pytest.Item) -> int:
        parts = set(item.path.parts)
        return 0 if {"queues", "races"} & parts else 1 if parts.intersection(_LONGEST) else 2

    items.sort(key=place)
    for item in items:
        for group in ("queues", "races"):
            if f"/{group}/" in item.path.as_posix():
                item.add_marker(pytest.mark.xdist_group(group))


def _leave_queues_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    queues = {name for item in items if (name := _queue_of(item))}
    reasons = {name: reason for name in sorted(queues) if (reason := why_left_out(name))}
    left_out = [item for item in items if _queue_of(item) in reasons]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _queue_of(item) not in reasons]
        config.stash[QUEUES_LEFT_OUT] = list(reasons.values())


def _queue_of(item: pytest.Item) -> str:
    marker = item.get_closest_marker("queue")
    return str(marker.args[0]) if marker else ""


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say so in one line."""
    if most := config.getoption("--parameters"):
        terminalreporter.write_line(
            f"Each unit test ran with {most} of its parameter sets at most; `make test-all` runs all."
        )
    if config.stash.get(LEFT_OUT, False):
        terminalreporter.write_line(BROWSER_TESTS_LEFT_OUT, yellow=True)
    if reasons := config.stash.get(QUEUES_LEFT_OUT, []):
        terminalreporter.write_line(
            f"Tests of queues were left out: {'; '.join(reasons)}.", yellow=True
        )

    for place, tests in (
        ("/setups/", "Set-ups"),
        ("/copies/", "Tests of copies"),
        ("/test_production.py", "Tests by nginx"),
    ):
        reasons = dict.fromkeys(
            str(report.longrepr[2]).removeprefix("Skipped: ")
            for report in terminalreporter.stats.get("skipped", [])
            if place in report.nodeid
        )
        if reasons:
            terminalreporter.write_line(
                f"{tests} were left out: {'; '.join(reasons)}.", yellow=True
            )


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """No breaker is open, no budget spent, no language chosen by another test of this process."""
    translation.deactivate()
    GATES.forget()
    forget_binding()
    cache.clear()


@pytest.fixture(scope="session")
def leak_detector() -> Iterator[LeakDetector]:
    """Listen to what we and urllib3 log, at every level, in the whole suite."""
    detector = LeakDetector()
    loggers = [logging.getLogger(name) for name in ("payments_pages", "urllib3")]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.addHandler(detector)
    yield detector
    for logger in loggers:
        logger.removeHandler(detector)


@pytest.fixture(autouse=True)
def no_secret_is_logged(leak_detector: LeakDetector) -> Iterator[None]:
    """No test makes us log a key, a card code or an Authorization header (case C19)."""
    leak_detector.leaks.clear()
    yield
    assert leak_detector.leaks == []


@pytest.fixture(scope="session")
def sandbox_server() -> Iterator[Sandbox]:
    with Sandbox(secret_key=KEY, currency="ILS") as server:
        yield server


@pytest.fixture
def sandbox(sandbox_server: Sandbox, settings: Any) -> Iterator[Sandbox]:
    """A clean sandbox that the site is configured for."""
    sandbox_server.reset()
    settings.PAYMENTS_PAGES = {
        **django_settings.PAYMENTS_PAGES,
        "SECRET_KEY": KEY,
        "BASE_URL": sandbox_server.base_url,
        "PAY_URL": sandbox_server.pay_url,
    }
    yield sandbox_server
    sandbox_server.faults.clear()


@pytest.fixture
def configure(settings: Any) -> Any:
    """Change keys of PAYMENTS_PAGES for one test; None takes a key out."""

    def change(**keys: Any) -> None:
        merged = {**settings.PAYMENTS_PAGES, **keys}
        settings.PAYMENTS_PAGES = {k: v for k, v in merged.items() if v is not None}

    return change


@pytest.fixture
def open_webhook(sandbox: Sandbox, configure: Any) -> None:
    """Open the webhook, as its settings must."""
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))


def mirror_page(remote: dict[str, Any]) -> PaymentPage:
    """Mirror a page of the sandbox as the app would have after creating it."""
    return PaymentPage.objects.create(
        remote_id=remote["id"],
        name=remote["name"],
        slug=remote["slug"],
        slug_key=slug_key(remote["slug"]),
        amount=remote["amount"],
        currency=remote["currency"],
        domain=remote["domain"],
        active=remote["active"],
    )


@pytest.fixture
def tea_box(db: None, sandbox: Sandbox) -> PaymentPage:
    """The page of the cases: "Tea box", 100.00 ILS."""
    return mirror_page(sandbox.add_page(name="Tea box", slug="tea-box", amount=10000))


def mirror_another(sandbox: Sandbox, **fields: Any) -> PaymentPage:
    """A second page at the service and in the mirror."""
    return mirror_page(sandbox.add_page(**{"name": "Another", **fields}))


def expect_payment(reference: str, amount: int = 10000, **fields: Any) -> ExpectedPayment:
    """What a merchant expects of a reference it made itself; `amount` is minor units."""
    return ExpectedPayment.objects.create(
        reference=reference,
        reference_key=reference_key(reference),
        **{"amount": amount, "currency": "ILS", **fields},
    )


@pytest.fixture
def come_back(client: Client) -> Any:
    """Be the payer who returns by a callback: the plain one, or that of a page."""

    def visit(reference: str, page: PaymentPage | None = None, **more: Any) -> HttpResponse:
        name = "payments_pages:page-callback" if page else "payments_pages:callback"
        address = reverse(name, args=[page.token] if page else [])
        response: HttpResponse = client.get(address, {"reference": reference}, **more)
        return response

    return visit


@pytest.fixture
def child_environment(settings: Any, sandbox: Sandbox) -> Callable[[], dict[str, str]]:
    """Build the environment in which a child process works on this test's own data."""

    def build() -> dict[str, str]:
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.support.settings",
            "TESTS_DATABASE_NAME": str(connection.settings_dict["NAME"]),
            "TESTS_PAYMENTS_PAGES": json.dumps(settings.PAYMENTS_PAGES),
        }

    return build


def in_thread(action: Callable[[], Any]) -> Future[Any]:
    """Start an action in a thread that has its own connections, and closes them."""
    promise: Future[Any] = Future()

    def work() -> None:
        try:
            result = action()
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            connections.close_all()
            promise.set_exception(error)
        else:
            connections.close_all()
            promise.set_result(result)

    threading.Thread(target=work).start()
    return promise


_LOOK = "SELECT payments_pages_verification.id"
CLAIM = (f"{_LOOK} FROM", f"{_LOOK} AS pk FROM", "UPDATE payments_pages_verification")
"""How the first statement of a change of a verification begins: on servers it looks for a lock."""


@contextmanager
def meanwhile(statement: str | tuple[str, ...], action: Callable[[], Any]) -> Iterator[list[Any]]:
    """Let a rival do all of `action` just before our first statement that begins so.

    The interleaving that a race hits once in a thousand runs, every time. The list gets what
    the rival's action returned.
    """
    results: list[Any] = []
    quote = connection.ops.quote_name

    def step(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        plain = sql.replace(quote("x")[0], "")
        if not results and plain.startswith(statement):
            results.append(in_thread(action).result(timeout=30))
        return execute(sql, *arguments)

    with connection.execute_wrapper(step):
        yield results
    assert results, f"no statement began with {statement!r}"
