"""Checks of the settings about saved cards."""

from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.utils.module_loading import import_string

from payments_pages.conf import conf
from payments_pages.confirmation import is_unfinished, takes_one_argument
from payments_pages.encryption import check_card_keys, is_installed
from payments_pages.exceptions import UnusableCardKeys

__all__ = ["check_cards"]

_NEW_KEY = (
    '"CARD_KEYS": [os.environ["CARD_KEY"]], a key made by: python -c "from cryptography.fernet '
    'import Fernet; print(Fernet.generate_key().decode())"'
)


@register(Tags.compatibility)
def check_cards(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E050: SAVE_CARD names no function that says whose a card is. E051: CARD_KEYS is missing or malformed. E052: the extra `cards` is not installed."""
    path, keys = conf.get("SAVE_CARD"), conf.get("CARD_KEYS")
    messages: list[CheckMessage] = []
    if path and (complaint := _complaint(path)):
        hint = '"SAVE_CARD": "shop.cards.owner", a function: def owner(transaction) -> user | None'
        messages.append(
            Error(f"PAYMENTS_PAGES['SAVE_CARD'] {complaint}", hint=hint, id="payments_pages.E050")
        )
    if not path and not keys:
        return messages
    if not is_installed():
        message = "SAVE_CARD and CARD_KEYS need the package cryptography, which is not installed."
        hint = "pip install payments-pages[cards]"
        messages.append(Error(message, hint=hint, id="payments_pages.E052"))
    elif not callable(keys):  # checks call no vault
        try:
            check_card_keys()
        except UnusableCardKeys as error:
            messages.append(Error(str(error), hint=_NEW_KEY, id="payments_pages.E051"))
    return messages


def _complaint(path: object) -> str:
    try:
        function = import_string(str(path))
    except ImportError as failure:
        return f"cannot be imported: {failure}"
    if not callable(function):
        return "is not callable."
    if is_unfinished(function):
        return "is a coroutine or generator function: a call does not run it."
    return "" if takes_one_argument(function) else "cannot be called with one argument."
