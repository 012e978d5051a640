"""A merchant's project is type-checked against the package, with the plugin of django-stubs and without."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("mypy_django_plugin", reason="needs mypy and django-stubs (group dev)")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONFIGS = {
    "plugin": """
        [tool.mypy]
        strict = true
        plugins = ["mypy_django_plugin.main"]
        [tool.django-stubs]
        django_settings_module = "shop.settings"
    """,
    "plain": """
        [tool.mypy]
        strict = true
    """,
}

PROJECT = {
    "__init__.py": "",
    "settings.py": """
        SECRET_KEY = "only for tests"
        INSTALLED_APPS = [
            "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
            "payments_pages", "shop",
        ]
        PAYMENTS_PAGES: dict[str, object] = {}
    """,
    "handlers.py": """
        from payments_pages.confirmation import renew_lease
        from payments_pages.exceptions import PermanentFulfilmentError
        from payments_pages.models import Fulfilment, Transaction


        def deliver(fulfilment: Fulfilment) -> None:
            payment: Transaction = fulfilment.transaction
            if payment.page is None:
                raise PermanentFulfilmentError("This payment is for no page.")
            slug: str = payment.page.slug
            if not renew_lease(fulfilment):
                raise TimeoutError(slug)
    """,
    "views.py": """
        from django.db import transaction
        from django.http import HttpRequest, JsonResponse
        from payments_pages.choices import Door, Outcome
        from payments_pages.confirmation import (
            Confirmation,
            confirm_payment,
            confirm_payment_on_commit,
        )
        from payments_pages.models import ExpectedPayment, PaymentPage


        def order(request: HttpRequest, page: PaymentPage) -> JsonResponse:
            with transaction.atomic():
                expected = ExpectedPayment.objects.expect(amount=12050, currency="ILS", page=page)
            reference: str = expected.reference
            return JsonResponse({"reference": reference})


        def paid(request: HttpRequest, reference: str) -> JsonResponse:
            known = ExpectedPayment.objects.filter(reference=reference).first()
            if known is None:
                confirm_payment_on_commit(reference)
                return JsonResponse({})
            found: Confirmation = confirm_payment(reference, door=Door.CONFIRM, vouched=True)
            if found.outcome is Outcome.DELIVERED and found.transaction is not None:
                return JsonResponse({"amount": found.transaction.amount})
            return JsonResponse({"outcome": found.outcome})
    """,
    "admin.py": """
        from django.contrib import admin
        from django.http import HttpRequest
        from payments_pages.admin import PaymentPageAdmin, TransactionAdmin, VerificationAdmin
        from payments_pages.models import PaymentPage, Transaction, Verification

        admin.site.unregister([PaymentPage, Transaction, Verification])


        @admin.register(PaymentPage)
        class ShopPageAdmin(PaymentPageAdmin):
            list_display = ("name", "price")
            list_filter = ("active",)
            search_fields = ("name",)
            ordering = ("name",)
            actions = ("deactivate_pages",)
            readonly_fields = (*PaymentPageAdmin.readonly_fields, "description")


        @admin.register(Transaction)
        class ShopTransactionAdmin(TransactionAdmin):
            list_display = ["code", "paid"]
            list_filter = [*TransactionAdmin.list_filter, "channel"]
            list_select_related = ("fulfilment", "page")
            search_fields = ["reference__exact"]
            sortable_by = ["code"]
            ordering = ["pk"]
            actions = (*TransactionAdmin.actions, "praise")

            @admin.action(description="Praise")
            def praise(self, request: HttpRequest, queryset: object) -> None: ...


        @admin.register(Verification)
        class ShopVerificationAdmin(VerificationAdmin):
            list_display = ("code",)
            list_filter = ()
            search_fields = ("reference__exact", "last_error")
            sortable_by = None
            ordering = ("pk",)
            actions = []
            fieldsets = ((None, {"fields": ("code",)}),)
    """,
}

WRONG = """
    from payments_pages.confirmation import confirm_payment
    from payments_pages.models import ExpectedPayment

    ExpectedPayment.objects.expect(amount="120.50", currency="ILS")
    ExpectedPayment.objects.await_payment()
    confirm_payment()
"""


def check_types(folder: Path, config: str) -> list[str]:
    """Write the project with one more module, and return what mypy says of it."""
    (folder / "shop").mkdir()
    for name, text in PROJECT.items():
        (folder / "shop" / name).write_text(textwrap.dedent(text))
    (folder / "pyproject.toml").write_text(textwrap.dedent(CONFIGS[config]))
    (folder / "wrong.py").write_text(textwrap.dedent(WRONG))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", "shop", "wrong.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "", done.stderr
    return [line for line in done.stdout.splitlines() if ": error:" in line]


@pytest.mark.parametrize("config", CONFIGS)
def test_f10_a_merchants_project_passes_mypy_strict(config: str, tmp_path: Path) -> None:
    """The last module is wrong on purpose: what it does is known, and not taken for anything."""
    found = check_types(tmp_path, config)
    assert [line for line in found if not line.startswith("wrong.py")] == []
    assert len(found) == 3
    assert 'has incompatible type "str"; expected "int"' in found[0]
    assert 'has no attribute "await_payment"' in found[1]
    assert 'Missing positional argument "reference"' in found[2]
