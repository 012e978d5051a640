"""A mixin for unittest."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.test import SimpleTestCase

from payments_pages.choices import Outcome
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing.payers import Visit, pay
from payments_pages.testing.sites import make_page, sandboxed
from payments_pages.testing.trials import assert_delivered_once, rush

__all__ = ["SandboxMixin"]

if TYPE_CHECKING:
    _Case = SimpleTestCase
else:
    _Case = object


class SandboxMixin(_Case):
    """A sandbox for each test, `self.sandbox`: `class T(SandboxMixin, TransactionTestCase)`.

    `account` are settings of the sandbox's account. With `TransactionTestCase` everything works;
    with `TestCase` all but `rush`.
    """

    account: dict[str, Any] = {}
    sandbox: Sandbox

    def setUp(self) -> None:
        """Start the sandbox, and let the site use it until the test has ended."""
        super().setUp()
        self.sandbox = self.enterContext(sandboxed(**self.account))

    def make_page(self, **fields: Any) -> PaymentPage:
        """Create a page; see `payments_pages.testing.make_page`."""
        return make_page(**fields)

    def pay(self, page: PaymentPage, **payment: Any) -> Visit:
        """Pay and come back with this test's client; see `payments_pages.testing.pay`."""
        return pay(self.sandbox, page, **{"client": self.client, **payment})

    def rush(self, reference: str, **how: Any) -> list[Outcome]:
        """Confirm many times at once; see `payments_pages.testing.rush`."""
        return rush(reference, **how)

    def assertDeliveredOnce(  # noqa: N802 - unittest's own style
        self, reference: str, rows: QuerySet[Any] | Callable[[], int] | None = None
    ) -> None:
        """Fail unless delivered once; see `payments_pages.testing.assert_delivered_once`."""
        assert_delivered_once(reference, rows)
