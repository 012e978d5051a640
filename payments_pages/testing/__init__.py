"""Test your handler, and whatever else you build on the path, against a sandbox.

Needs the extra `sandbox`; `payments_pages.testing.fixtures` also needs pytest. Everything runs as in
production: a payer pays at the sandbox and comes back to your callback, and your site asks the
service over real HTTP. In plain Python:

    from payments_pages import testing

    with testing.sandboxed() as sandbox:
        page = testing.make_page(name="Tea box", amount=10000)  # 100.00 ILS
        visit = testing.pay(sandbox, page, email="payer@example.test")
        testing.assert_delivered_once(visit.reference, Licence.objects.all())

With pytest, in `conftest.py`, for a fixture `sandbox`:

    pytest_plugins = ["payments_pages.testing.fixtures"]

With unittest:

    class HandlerTests(testing.SandboxMixin, TransactionTestCase): ...

Three tests for a handler that looks right and still delivers twice, or not at all:

    outcomes = testing.rush(reference, page=page)           # many confirmations at once
    testing.deliver_after_crash(reference, page=page)       # the process dies after the work
    testing.assert_delivered_once(reference, your_rows)     # delivered, but your rows are missing

`rush` needs committed data: a `TransactionTestCase` or `django_db(transaction=True)`. All others
work in a plain `TestCase` too.
"""

from payments_pages.testing.mixins import SandboxMixin
from payments_pages.testing.payers import Visit, come_back, pay, pay_expected, send_webhook
from payments_pages.testing.sites import configured, make_page, sandboxed
from payments_pages.testing.trials import (
    assert_delivered_once,
    deliver_after_crash,
    let_time_pass,
    run_sweep,
    rush,
)

__all__ = [
    "SandboxMixin",
    "Visit",
    "assert_delivered_once",
    "come_back",
    "configured",
    "deliver_after_crash",
    "let_time_pass",
    "make_page",
    "pay",
    "pay_expected",
    "run_sweep",
    "rush",
    "sandboxed",
    "send_webhook",
]
