"""Do what people and commands do every day, and say how long each takes.

    python -m tests.benchmarks.growth.operations [SAMPLES]

works on the database that `DATABASE_URL` names and prints JSON: how many payments there are, and
for each operation its median in milliseconds. Everything is asked through the site's own
addresses, in this process, without a network between.
"""

import datetime as dt
import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

__all__ = ["OPERATIONS", "main"]

SAMPLES = 7
EXPORTED = 10_000

OPERATIONS = {
    "list": "payments, the newest 100",
    "list_last": "… the last page that is offered",
    "list_status": "… of a status",
    "list_rare": "… of a status that came up long ago only",
    "list_held": "… held for staff",
    "list_page": "… of one page",
    "list_month": "… of 30 days, of one status and currency",
    "search_reference": "a payment by its reference",
    "search_email": "a customer's payments, by e-mail",
    "search_name": "… by name",
    "search_prefix": "payments by the beginning of their reference",
    "detail": "one payment with its timeline",
    "pages": "pages with what they sold",
    "asked": "references asked about",
    "asked_due": "… those that are due",
    "index": "what needs attention",
    "totals": "totals of 30 days",
    "export": "export, each 1,000 payments",
    "export_held": "export of what is held",
    "sweep": "what the sweep takes next, of 1,000 due",
    "oldest": "the oldest due row",
    "callback": "a callback of a settled payment",
    "result": "a result page",
}
"""What is measured, by name, and what a reader sees."""


def main(samples: int = SAMPLES) -> None:
    """Measure, and print the JSON."""
    import django

    django.setup()
    from payments_pages.models import Transaction

    found = {
        name: _median(act, samples) for name, act in _acts(Transaction.objects.count()).items()
    }
    print(json.dumps({"size": Transaction.objects.count(), "milliseconds": found}))


def _median(act: Callable[[], Any], samples: int) -> float:
    act()  # what is kept between requests is kept now
    taken = []
    for _sample in range(samples):
        began = time.perf_counter()
        found = act()
        thousands = found if isinstance(found, float) else 1
        taken.append((time.perf_counter() - began) * 1000 / thousands)
    return statistics.median(taken)


def _acts(size: int) -> dict[str, Callable[[], Any]]:
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse
    from django.utils import timezone

    from payments_pages.conf import conf
    from payments_pages.confirmation import backlog, oldest_due
    from payments_pages.models import PaymentPage, Transaction, Verification
    from payments_pages.staff import (
        take_totals,
        write_csv,
    )
    from tests.benchmarks.growth.rows import email_of, payer_of, reference_of

    client = Client()
    user, _made = User.objects.get_or_create(username="growth", is_staff=True, is_superuser=True)
    client.force_login(user)
    paid = Transaction.objects.filter(status="success")
    delivered = paid.filter(fulfilment__state="delivered").order_by("-pk")
    newest = delivered[50]
    due = Verification.objects.due().count()
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    month = {
        "paid_at__gte": str(today - dt.timedelta(days=30)),
        "paid_at__lt": str(today),
        "status": "success",
        "currency": "ILS",
    }
    known = delivered[60].reference

    busiest = PaymentPage.objects.order_by("pk")[1].pk

    def get(name: str, query: dict[str, Any] | None = None, *args: Any, status: int = 200) -> Any:
        address = reverse(name, args=args)

        def act() -> None:
            response = client.get(address, query or {}, follow=status == 200)
            if response.status_code != status:
                raise AssertionError(f"{address} {query} answered {response.status_code}")

        return act

    def listed(query: dict[str, Any] | None = None) -> Any:
        return get("admin:payments_pages_transaction_changelist", query)

    last = max(1, min(size, 10_000) // 100)
    held = Transaction.objects.filter(fulfilment__state="held")

    def sweep() -> None:
        vouched = islice(backlog.due_work(due, may_ask=lambda: True), due)
        if len([*vouched, *islice(backlog.unvouched_work(due), due)]) < due:
            raise AssertionError("The sweep did not find what is due.")

    def export(rows: Any) -> Callable[[], None]:
        return lambda: _read(write_csv(rows))

    return {
        "list": listed(),
        "list_last": listed({"p": last}),
        "list_status": listed({"status": "success"}),
        "list_rare": listed({"status__other": "1"}),
        "list_held": listed({"fulfilment__state__exact": "held"}),
        "list_page": listed({"page__id__exact": busiest}),
        "list_month": listed(month),
        "search_reference": listed({"q": reference_of(size // 2)}),
        "search_email": listed({"q": email_of(size // 2)}),
        "search_name": listed({"q": f"Muna {payer_of(size // 2)}"}),
        "search_prefix": listed({"q": reference_of(size // 2)[:12]}),
        "detail": get("admin:payments_pages_transaction_change", None, newest.pk),
        "pages": get("admin:payments_pages_paymentpage_changelist"),
        "asked": get("admin:payments_pages_verification_changelist"),
        "asked_due": get("admin:payments_pages_verification_changelist", {"state__exact": "due"}),
        "index": get("admin:app_list", None, "payments_pages"),
        "totals": lambda: take_totals(conf.mode),
        "export": export(Transaction.objects.all()),
        "export_held": export(held),
        "sweep": sweep,
        "oldest": oldest_due,
        "callback": get("payments_pages:callback", {"reference": known}, status=303),
        "result": get("payments_pages:result", None, newest.token),
    }


def _read(chunks: Any) -> float:
    """Read an export until it has given `EXPORTED` rows; return how many, in thousands."""
    seen = 0
    for chunk in chunks:
        seen += chunk.count(b"\r\n")
        if seen > EXPORTED:
            break
    return max(1.0, (seen - 1) / 1000)


if __name__ == "__main__":
    main(*(int(argument) for argument in islice(sys.argv[1:], 1)))
