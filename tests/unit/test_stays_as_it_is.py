"""What is written down outside of a site's code stays the same in every version.

`docs/upgrading.md` promises it. The values here are those of the first version: if one of these tests
fails, the code is to be mended and not the test.
"""

import re
from pathlib import Path
from uuid import UUID

import pytest
from django.apps import apps
from django.urls import reverse

from payments_pages import urls
from payments_pages.models.fulfilments import derive_idempotency_key
from payments_pages.references import text_key

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "upgrading.md").read_text("utf-8")
TOKEN = UUID("5a0f9a9e-3f0d-4d7e-8a53-0f7c2f6f3d11")
PATHS = {
    "callback": "callback/",
    "page-callback": f"callback/{TOKEN}/",
    "confirm": "confirm/",
    "webhook": "webhook/",
    "result": f"result/{TOKEN}/",
}
TABLES = {
    "payments_pages_digest",
    "payments_pages_event",
    "payments_pages_expectedpayment",
    "payments_pages_fulfilment",
    "payments_pages_keptday",
    "payments_pages_latechange",
    "payments_pages_paymentpage",
    "payments_pages_savedcard",
    "payments_pages_sitebinding",
    "payments_pages_transaction",
    "payments_pages_verification",
}


@pytest.mark.parametrize(("name", "path"), PATHS.items())
def test_an_address_that_others_have_stays(name: str, path: str) -> None:
    arguments = [TOKEN] if str(TOKEN) in path else []
    root = reverse("payments_pages:webhook").removesuffix("webhook/")
    assert reverse(f"payments_pages:{name}", args=arguments) == root + path


def test_the_page_names_these_addresses() -> None:
    (row,) = re.findall(r"^\| the paths (.*?) \|", PAGE, re.MULTILINE)
    named = {path.replace("<token>", str(TOKEN)) for path in re.findall(r"`([\w/<>]+/)`", row)}
    assert named == set(PATHS.values())
    names = {pattern.name for pattern in urls.urlpatterns if pattern.name}
    assert names - set(PATHS) == {"brand", "result-status"}  # our own pages alone ask for these


def test_a_payment_has_the_same_keys() -> None:
    key = text_key("live", "PPG-1")
    assert key == "753a585b62dbb865a3df3f290b8c7052a021fe5839fe73435e70cdda795ec2c3"
    assert derive_idempotency_key(key) == UUID("e07abfdb-e617-5b4e-851b-1c842b249fb0")


def test_the_tables_have_the_same_names() -> None:
    models = apps.get_app_config("payments_pages").get_models()
    assert {model._meta.db_table for model in models} >= TABLES
