"""People who work in the admin, each with what they may do."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from payments_pages.sandbox import Sandbox

LIVE_KEY = "sk_live_suite"


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example.test", "x"))
    return client


@pytest.fixture
def person(db: None) -> Callable[..., Client]:
    """Log in somebody who has exactly these permissions."""

    def log_in(*codenames: str) -> Client:
        user = User.objects.create_user(f"person {User.objects.count()}", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client = Client()
        client.force_login(user)
        return client

    return log_in


@pytest.fixture
def live(sandbox: Sandbox, configure: Any) -> Sandbox:
    """The sandbox as a live account, and the site with its key."""
    sandbox.set_account(secret_key=LIVE_KEY)
    configure(SECRET_KEY=LIVE_KEY)
    return sandbox
