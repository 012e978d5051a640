from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client

from example_project.secret_key import random_card_key
from example_project.shop.models import Offer
from payments_pages.choices import Door
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page
from payments_pages.sandbox import Sandbox


def popup_settings(sandbox: Sandbox) -> dict[str, str]:
    return {
        "PUBLIC_KEY": sandbox.public_key,
        "INLINE_URL": sandbox.inline_url,
        "START_URL": sandbox.start_url,
    }


class Shop:
    """The shop at work: pages made through the service, payments confirmed through the path."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def page(
        self,
        slug: str = "tea-box",
        *,
        name: str = "Tea box",
        amount: int | None = 12050,
        description: str = "",
    ) -> PaymentPage:
        return create_page(name=name, amount=amount, slug=slug, description=description)

    def pay(self, page: PaymentPage, email: str = "payer@example.test") -> str:
        return self.sandbox.pay(page.slug, email=email)

    def gift_card(self, **fields: Any) -> Offer:
        """An offer that is sold in a popup."""
        page = self.page("gift-card", name="Gift card", **fields)
        Offer.objects.filter(page=page).update(popup=True)
        return Offer.objects.get(page=page)

    def confirm(self, reference: str, page: PaymentPage | None) -> Confirmation:
        token = page.token if page else None
        return confirm_payment(reference, door=Door.CALLBACK, page_token=token)

    def buy(self, page: PaymentPage, email: str = "payer@example.test") -> str:
        reference = self.pay(page, email)
        self.confirm(reference, page)
        return reference


@pytest.fixture
def shop(transactional_db: None, sandbox: Sandbox, configure: Any, settings: Any) -> Shop:
    settings.ROOT_URLCONF = "example_project.urls"
    settings.POPUP = popup_settings(sandbox)
    settings.CHARGE_URL = f"{sandbox.base_url}/sandbox/charge"
    settings.LOGIN_URL = "sign-in"
    settings.LOGOUT_REDIRECT_URL = "storefront"
    configure(
        HANDLER="example_project.shop.handlers.deliver",
        SAVE_CARD="example_project.shop.cards.owner",
        CARD_KEYS=[random_card_key()],
    )
    return Shop(sandbox)


def make_user(email: str = "", *, staff: bool = False) -> User:
    return get_user_model().objects.create_user(f"user {email} {staff}", email, is_staff=staff)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
