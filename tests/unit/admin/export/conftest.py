"""Who exports."""

import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff"))
    return client
