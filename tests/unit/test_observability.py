"""The documented log records are the code's, and the recipe for metrics works."""

import ast
import functools
import logging
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from prometheus_client import REGISTRY

from payments_pages import signals
from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "observability.md").read_text()
PACKAGE = ROOT / "payments_pages"
METHODS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})

Row = tuple[str, str, frozenset[str], frozenset[str]]
"""Name, logger, levels, fields."""


def documented() -> dict[str, Row]:
    table = PAGE.partition("<!-- records -->")[2].partition("<!-- end -->")[0]
    rows = {}
    for line in table.strip().splitlines()[2:]:
        name, logger, levels, extra, _means = (cell.strip() for cell in line.strip("|").split("|"))
        fields = frozenset(re.findall(r"`(\w+)`", extra))
        name, logger = name.strip("`"), logger.strip("`")
        rows[name] = (name, logger, frozenset(levels.split(", ")), fields)
    return rows


@functools.cache
def in_source() -> tuple[Row, ...]:
    sources = {
        path: path.read_text()
        for path in sorted(PACKAGE.rglob("*.py"))
        if "sandbox" not in path.parts
    }
    trees = {path: ast.parse(source) for path, source in sources.items()}
    own = {path: functions_of(tree) for path, tree in trees.items()}
    everywhere = {name: node for functions in own.values() for name, node in functions.items()}
    return tuple(
        row
        for path, source in sources.items()
        if "logger" in source
        for row in records_of(source, trees[path], {**everywhere, **own[path]})
    )


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def records_of(
    source: str, tree: ast.Module, functions: dict[str, ast.FunctionDef]
) -> Iterator[Row]:
    """Every call on a module's `logger`: its name, its levels, the keys of its extra."""
    loggers = re.findall(r'^logger = logging.getLogger\("([\w.]+)"\)$', source, re.MULTILINE)
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        target = call.func.value
        if not (isinstance(target, ast.Name) and target.id == "logger"):
            continue
        assert call.func.attr in METHODS
        assert len(loggers) == 1
        level = call.func.attr.upper()
        message = call.args[1] if level == "LOG" else call.args[0]
        assert isinstance(message, ast.Constant), "a message is one text, never built"
        extra = next((word.value for word in call.keywords if word.arg == "extra"), None)
        fields = frozenset(keys_of(extra, functions)) if extra is not None else frozenset()
        levels = frozenset() if level == "LOG" else frozenset({level})
        yield str(message.value).partition(":")[0], loggers[0], levels, fields


def keys_of(node: ast.expr, functions: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """The keys of a dict that is written out, here or in a function of the package."""
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        (given,) = (
            part for part in ast.walk(functions[node.func.id]) if isinstance(part, ast.Return)
        )
        assert given.value is not None
        yield from keys_of(given.value, functions)
        return
    assert isinstance(node, ast.Dict)
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            yield from keys_of(value, functions)
        else:
            yield ast.literal_eval(key)


def test_every_record_is_documented_as_it_is() -> None:
    table = documented()
    for name, logger, levels, fields in in_source():
        assert name in table, f"{name} is not in docs/observability.md"
        _name, documented_logger, documented_levels, documented_fields = table[name]
        assert (logger, fields) == (documented_logger, documented_fields), name
        assert levels <= documented_levels, name
        if not levels:
            assert len(documented_levels) > 1, f"{name} has its level from a variable"


def test_every_documented_record_is_written_somewhere() -> None:
    assert set(documented()) == {name for name, *_rest in in_source()}
    assert len(documented()) >= 15


def test_a_field_never_hides_one_of_pythons_own() -> None:
    own = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
    for name, _logger, _levels, fields in in_source():
        assert not fields & own, name


def test_every_signal_is_named() -> None:
    for name in signals.__all__:
        assert f"`{name}`" in PAGE


@pytest.fixture
def recipe() -> Iterator[types.ModuleType]:
    """Run the documented module as it stands; take its metrics and its listeners away again."""
    source = PAGE.partition("<!-- snippet: prometheus -->\n```python\n")[2].partition("```")[0]
    module = types.ModuleType("metrics")
    exec(compile(source, "docs/observability.md", "exec"), vars(module))
    yield module
    for metric in (module.CALLS, module.FULFILMENTS, module.OLDEST):
        REGISTRY.unregister(metric)
    for name in ("fulfilment_delivered", "fulfilment_failed", "fulfilment_held"):
        assert getattr(signals, name).disconnect(module.count_fulfilment)
    for handler in list(module.logger.handlers):
        if isinstance(handler, module.CallObserver):
            module.logger.removeHandler(handler)


@pytest.mark.django_db
def test_the_prometheus_recipe_counts_calls_deliveries_and_age(
    recipe: types.ModuleType, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    confirm_payment("UNKNOWN", door=Door.CALLBACK)
    configure(HANDLER="tests.support.goods.handlers.refuse")
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    told = prometheus_client.generate_latest(REGISTRY).decode()
    labels = 'method="GET",outcome="Response",path="/transaction/verify/{}"'
    assert f'payments_pages_call_seconds_count{{{labels},status="200"}} 2.0' in told
    assert f'payments_pages_call_seconds_count{{{labels},status="404"}} 1.0' in told
    assert 'payments_pages_fulfilments_total{reason="",state="delivered"} 1.0' in told
    assert 'payments_pages_fulfilments_total{reason="permanent_error",state="held"} 1.0' in told
    assert "payments_pages_oldest_due_seconds " in told


@pytest.mark.django_db
def test_the_steps_of_a_payment_can_be_followed_by_its_reference(
    tea_box: PaymentPage, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "payments_pages")
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="status", status=503, times=2)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(10)
    confirm_payment(reference, door=Door.SWEEP)
    told = [
        (record.getMessage().partition(":")[0], getattr(record, "door", ""))
        for record in caplog.records
        if getattr(record, "reference", None) == reference
    ]
    assert told == [
        ("confirmation.unanswered", "callback"),
        ("payment.recorded", "sweep"),
        ("fulfilment.delivered", "sweep"),
    ]
