"""The start page, for a person on the same machine: pages, payments, faults, and where they lead.

It shows no payer. Who may see it is who may steer the sandbox.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from markupsafe import Markup
from werkzeug.wrappers import Request, Response

from payments_pages.money import format_amount
from payments_pages.sandbox.checkout import page_response
from payments_pages.sandbox.control import is_ours
from payments_pages.sandbox.faults import Fault, Faults
from payments_pages.sandbox.html import document
from payments_pages.sandbox.payloads import Payload
from payments_pages.sandbox.state import State

__all__ = ["Overview"]

LATEST = 50
"""The most payments that are shown."""


class Overview:
    """The start page of a state and its faults."""

    def __init__(self, state: State, faults: Faults, *, pay_path: str, control_path: str) -> None:
        self._state = state
        self._faults = faults
        self._pay_path = pay_path
        self._control_path = control_path

    def respond(self, request: Request) -> Response:
        """Show it; 403 for whom it is not meant."""
        if request.method not in {"GET", "HEAD"}:
            return Response(status=405, headers={"Allow": "GET, HEAD"})
        if not is_ours(request):
            return Response("Only programs on this machine may look in here.\n", status=403)
        content = Markup("\n").join(
            [
                Markup("<h1>Sandbox</h1>\n<p>{}</p>").format(
                    "A working double of the payment service. Pay on one of its pages and see what "
                    "the shop makes of it."
                ),
                *self._pages(),
                *self._payments(),
                *self._fault_table(),
                Markup('<h2>For programs</h2>\n<p>{} <a href="{}/state">state</a>.</p>').format(
                    "Everything as JSON:", self._control_path
                ),
            ]
        )
        wide = Markup('<div class="wide">\n{}\n</div>').format(content)
        return page_response(document("Overview", wide))

    def _pages(self) -> Iterable[Markup]:
        yield Markup("<h2>Pages</h2>")
        yield _table(
            ("Page", "Price"),
            ((self._name(page), _price(page)) for page in self._state.pages()),
            nothing="No page yet: create one in the shop's admin.",
        )

    def _name(self, page: Payload) -> Markup:
        if not page["active"]:
            return Markup(
                '<span dir="auto">{}</span> <span class="quiet">(switched off)</span>'
            ).format(page["name"])
        address = f"{self._pay_path}/{quote(page['slug'], safe='')}"
        return Markup('<a href="{}" dir="auto">{}</a>').format(address, page["name"])

    def _payments(self) -> Iterable[Markup]:
        payments = self._state.transactions()
        latest = payments[: -LATEST - 1 : -1]
        yield Markup("<h2>Payments</h2>")
        if len(latest) < len(payments):
            yield Markup("<p>The latest {} of {}.</p>").format(len(latest), len(payments))
        yield _table(
            ("Reference", "Amount", "Status"),
            (
                (_ltr(stored.data["reference"]), _money(stored.data), str(stored.data["status"]))
                for stored in latest
            ),
            nothing="Nobody has paid yet.",
        )

    def _fault_table(self) -> Iterable[Markup]:
        yield Markup("<h2>Faults</h2>")
        yield _table(
            ("Kind", "For", "How often"),
            ((fault.kind, _ltr(_target(fault)), _uses(fault)) for fault in self._faults.active()),
            nothing="The service answers as it should.",
        )


def _target(fault: Fault) -> str:
    return " ".join(filter(None, (fault.operation, fault.reference))) or "every call"


def _uses(fault: Fault) -> str:
    return f"{fault.used} so far" if fault.times is None else f"{fault.used} of {fault.times}"


def _price(page: Payload) -> str:
    return "the payer chooses" if page["amount"] is None else _money(page)


def _money(payload: Payload) -> Markup:
    """Write an amount; what a test makes of one may be no amount at all."""
    amount, currency = payload["amount"], payload["currency"]
    is_money = type(amount) is int and isinstance(currency, str)
    return _ltr(format_amount(amount, currency) if is_money else f"{amount!r} {currency!r}")


def _ltr(text: str) -> Markup:
    return Markup('<bdi dir="ltr">{}</bdi>').format(text)


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]], *, nothing: str) -> Markup:
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(Markup().join(Markup("<td>{}</td>").format(c) for c in row))
        for row in rows
    )
    if not body:
        return Markup('<p class="quiet">{}</p>').format(nothing)
    head = Markup().join(Markup('<th scope="col">{}</th>').format(cell) for cell in heading)
    return Markup("<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>").format(
        head, body
    )
