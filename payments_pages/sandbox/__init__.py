"""A working double of the service: its API, its hosted pages, its webhooks.

No money moves, and nothing leaves this machine. In a test, in the same process:

    from payments_pages.sandbox import Sandbox

    with Sandbox(currency="ILS") as sandbox:
        sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)  # 100.00 ILS
        reference = sandbox.pay("tea-box")
        sandbox.faults.add(operation="verify", kind="status", status=503, times=1)
        ...  # BASE_URL is sandbox.base_url, PAY_URL is sandbox.pay_url
        assert sandbox.verify_calls(reference) == 2

For a demo, in a process of its own:

    python -m payments_pages.sandbox --port 8001 --state sandbox.json

In a popup, payers pay a reference that the merchant made: the page loads `sandbox.inline_url`
and calls `SandboxPop.open(…)` (see `inline.js`) with `sandbox.public_key`. In a test:

    sandbox.start_checkout("A-1", amount=500, currency="ILS")
    sandbox.end_checkout("A-1")

A card that paid may be charged again, by a call that the service's interface does not show and
that is the sandbox's own: `POST /api/sandbox/charge` with `authorization_code`, `amount` (minor
units), `currency` and `reference`.

The API is served below `/api`, pages at `/pay/<slug>`; `/` shows a person what there is. Kinds of faults are listed in
`faults`, account settings in `account`. Where the service's interface is silent, the double
does what is most likely; the docstrings say where.

Control from other processes, JSON in and out, below `/_sandbox/`. Only programs on the same
machine are let in: the peer and the Host must be loopback, and a request with an Origin is
refused.

    GET    state                     account (no secrets), pages, transactions, faults
    POST   account                   {"currency": "JOD", "webhook_url": "http://…"}
    POST   pages                     {"name": "Tea box", "slug": "tea-box", "amount": 10000}
    POST   pages/<id or slug>        {"active": false}: any field
    DELETE pages/<id or slug>        forget it, which the API itself never does
    POST   pay                       {"page": "tea-box", "status": "success", "late": 5}
    POST   checkouts                 {"reference": "A-1", "amount": 500, "email": "a@b.test"}
    POST   checkouts/<reference>     {"status": "success", "late": 5}: its payer decides
    POST   transactions              {"reference": "A-1", "amount": 500}: no page led to it
    POST   transactions/<reference>  {"status": "reversed"}: any field
    POST   faults                    {"kind": "latency", "operation": "verify", "seconds": 0.2}
    DELETE faults
    GET    requests                  the latest API requests
    GET    calls                     ?operation=verify&reference=A-1, or ?method=GET&path=/page
    POST   webhooks                  {"reference": "A-1", "event": "charge.success", "times": 2}
    GET    webhooks                  those sent
    POST   reset
"""

try:
    from payments_pages.sandbox.server import Sandbox
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "werkzeug":
        raise
    # With this module's name, `python -m payments_pages.sandbox` ends in one line.
    raise ModuleNotFoundError(
        "The sandbox needs its extra: pip install payments-pages[sandbox]", name=__name__
    ) from None

__all__ = ["Sandbox"]
