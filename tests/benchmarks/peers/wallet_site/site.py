"""Describe the site."""

from collections.abc import Sequence
from typing import Any

APPS = ["rest_framework", "djmoney", "wallet", "tests.benchmarks.peers.wallet_site"]
KEY = "sk_test_bench"


def settings(service: str) -> dict[str, Any]:
    """Use the documented settings; the service's address is one of them."""
    return {
        "PAYSTACK_SECRET_KEY": KEY,
        "PAYSTACK_PUBLIC_KEY": "pk_test_bench",
        "PAYSTACK_API_URL": service,
        "WALLET_CURRENCY": "ILS",
        "WALLET_CALLBACK_REDIRECT_URL": "http://127.0.0.1/done/",
        "WALLET_ENABLE_FEES": False,
    }


def seed(references: Sequence[str]) -> None:
    """Make the payers, their wallets, and the deposits that they have started."""
    from django.contrib.auth.models import User
    from djmoney.money import Money
    from wallet.constants import (
        DIRECTION_CREDIT,
        TRANSACTION_STATUS_PENDING,
        TRANSACTION_TYPE_DEPOSIT,
    )
    from wallet.models import Transaction, Wallet

    payers = User.objects.bulk_create(User(username=reference) for reference in references)
    wallets = Wallet.objects.bulk_create(Wallet(user=payer) for payer in payers)
    amount = Money(100, "ILS")
    Transaction.objects.bulk_create(
        Transaction(
            wallet=wallet,
            amount=amount,
            total_amount=amount,
            transaction_type=TRANSACTION_TYPE_DEPOSIT,
            direction=DIRECTION_CREDIT,
            status=TRANSACTION_STATUS_PENDING,
            reference=reference,
        )
        for wallet, reference in zip(wallets, references, strict=True)
    )


def callback() -> str:
    """Return the address of the package's callback view."""
    return "/wallet/callback/?reference={0}"


def result(_location: str) -> str:
    """It sends payers to the merchant's own page."""
    return ""
