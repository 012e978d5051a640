"""The export as a person downloads it, and as the function writes it."""

import csv
import io
from typing import Any

from django.contrib.auth.models import Permission, User
from django.http import StreamingHttpResponse
from django.test import Client

from payments_pages.models import Transaction
from payments_pages.staff import write_csv

TRANSACTIONS = "/admin/payments_pages/transaction/"
EXPORT = TRANSACTIONS + "export/"
BOM = b"\xef\xbb\xbf"


def person(*codenames: str) -> Client:
    user = User.objects.create_user("person", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def rows_of(content: bytes) -> list[dict[str, str]]:
    assert content.startswith(BOM)
    return list(csv.DictReader(io.StringIO(content.removeprefix(BOM).decode(), newline="")))


def download(client: Client, query: str = "") -> list[dict[str, str]]:
    response = client.post(EXPORT + query)
    assert response.status_code == 200
    assert isinstance(response, StreamingHttpResponse)
    return rows_of(b"".join(response.streaming_content))


def written(**options: Any) -> list[dict[str, str]]:
    return rows_of(b"".join(write_csv(Transaction.objects.all(), **options)))
