"""Whatever stands in the address of a list: it is answered, or leads back to the list (no 500)."""

from collections.abc import Iterator

import pytest
from django.contrib.admin.sites import site
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from payments_pages.models import Fulfilment, PaymentPage, SavedCard, Transaction, Verification
from tests.support.scale import chosen
from tests.unit.admin.payments import paid

# Not in one transaction: on PostgreSQL nothing could be asked after the first refused value.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    # Django's: of a time without a zone it takes the reader's.
    pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime"),
]

LISTS = {
    model._meta.model_name: model for model in (Transaction, Verification, PaymentPage, SavedCard)
}
ODD = [
    "", " ", "0", "-1", "1", "1.5", "99999", "9" * 30, "-" + "9" * 30, "1e400", "nan", "True", "x", "%",
    "a\0", "٣", "'", "\u202e", "(", "[", "\\", "null", "None", "{}", "x" * 5000,
    "2026-11-27", "2026-13-45", "0000-00-00", "0001-01-01", "9999-12-31", "2026-11-27 21:05",
    "0001-01-01 00:00:00+14:00", "9999-12-31 23:59:59-12:00", "2026-11-27T21:05:00+99:99", "1,2", ",",
]  # fmt: skip
SHARP = (
    "", "9" * 30, "a\0", "x" * 5000, "2026-13-45", "0001-01-01 00:00:00+14:00", "9999-12-31",
    "1e400", "(", "\u202e", "9999-12-31 23:59:59-12:00",
)  # fmt: skip
"""Those furthest from what a filter expects; the first seven are among the lookups' values, too."""
OF_LOOKUPS = [
    "", "0", "9" * 30, "1e400", "x", "a\0", "(", "x" * 5000, "2026-13-45", "0001-01-01",
    "9999-12-31", "0001-01-01 00:00:00+14:00", ",",
]  # fmt: skip
LOOKUPS = [
    "exact", "iexact", "in", "gt", "gte", "lt", "lte", "range", "isnull", "year", "month", "day",
    "week", "week_day", "quarter", "iso_year", "date", "time", "hour", "minute", "second",
    "year__gte", "date__lt", "from", "to", "other", "regex", "iregex", "contains", "istartswith",
    "nonsense",
]  # fmt: skip


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    page = PaymentPage.objects.create(remote_id=1, name="Tea", slug_key="tea", domain="test")
    row = paid(page=page)
    Fulfilment.objects.create(transaction=row, reference_key=row.reference_key)
    Verification.objects.create(reference=row.reference, reference_key=row.reference_key)
    SavedCard.objects.create(
        owner_key="1", domain="test", first_payment=row, saved_at=timezone.now()
    )
    client.raise_request_exception = False
    return client


def parameters(name: str, client: Client) -> Iterator[str]:
    """Every parameter of every filter of a list."""
    changelist = client.get(f"/admin/payments_pages/{name}/").context["cl"]
    for spec in changelist.filter_specs:
        yield from (parameter for parameter in spec.expected_parameters() if parameter)


def faults(client: Client, name: str, names: list[str], values: list[str]) -> list[str]:
    found = []
    for parameter in names:
        for value in values:
            answer = client.get(f"/admin/payments_pages/{name}/", {parameter: value})
            if answer.status_code not in {200, 302, 400}:
                found.append(f"{parameter}={value!r}: {answer.status_code}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_every_filter_takes_every_odd_value(staff: Client, name: str) -> None:
    names = list(parameters(name, staff))
    assert names
    assert faults(staff, name, names, chosen(ODD, *SHARP)) == []


@pytest.mark.slow
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_so_does_every_lookup_that_django_takes_from_an_address(staff: Client, lookup: str) -> None:
    names = [f"{column}__{lookup}" for column in ("paid_at", "amount", "reference")]
    assert faults(staff, "transaction", names, chosen(OF_LOOKUPS, *SHARP[:7])) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_so_does_every_search(staff: Client, name: str) -> None:
    assert faults(staff, name, ["q"], ODD) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_so_does_every_order(staff: Client, name: str) -> None:
    # Python refuses to read more than 4,300 digits.
    values = [*ODD, "9" * 5000, "-" + "9" * 5000, "0.9.-1", "1." + "9" * 30]
    assert faults(staff, name, ["o", "p"], values) == []


def test_what_no_database_can_answer_leads_back_to_the_list(staff: Client) -> None:
    for query in ("paid_at__year=0", "paid_at__year=99999", "paid_at__gte=abc", "paid_at__lt="):
        answer = staff.get(f"/admin/payments_pages/transaction/?{query}")
        assert answer.status_code == 302
        assert answer.headers["Location"].endswith("?e=1")


def test_every_list_is_here() -> None:
    ours = {model for model in site._registry if model._meta.app_label == "payments_pages"}
    assert ours == set(LISTS.values())
