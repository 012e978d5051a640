"""The interface's tables as data: names and types, nothing else (interface: Resources)."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]


def string(value: Any) -> bool:
    return type(value) is str


def integer(value: Any) -> bool:
    return type(value) is int


def boolean(value: Any) -> bool:
    return type(value) is bool


def array(value: Any) -> bool:
    return type(value) is list


def timestamp(value: Any) -> bool:
    return string(value) and dt.datetime.fromisoformat(value).tzinfo is not None


def currency(value: Any) -> bool:
    return string(value) and re.fullmatch("[A-Z]{3}", value) is not None


def two_letters(value: Any) -> bool:
    return string(value) and re.fullmatch("[A-Z]{2}", value) is not None


def email(value: Any) -> bool:
    return string(value) and "@" in value


def or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def string_or_object(value: Any) -> bool:
    return type(value) in {str, dict}


def history(value: Any) -> bool:
    return array(value) and all(differences(HISTORY_ENTRY, entry) == [] for entry in value)


def fields(table: Mapping[str, Check]) -> Check:
    return lambda value: differences(table, value) == []


ENVELOPE: Mapping[str, Check] = {
    "status": boolean,
    "message": string,
    "data": lambda value: type(value) is dict,
}
CREATED_PAGE: Mapping[str, Check] = {
    "id": integer,
    "name": string,
    "description": string,
    "domain": string,
    "slug": string,
    "currency": currency,
    "active": boolean,
    "createdAt": timestamp,
    "updatedAt": timestamp,
}
HISTORY_ENTRY: Mapping[str, Check] = {"type": string, "message": string, "time": integer}
LOG: Mapping[str, Check] = {
    "start_time": integer,
    "time_spent": integer,
    "attempts": integer,
    "errors": integer,
    "success": boolean,
    "mobile": boolean,
    "input": array,
    "history": history,
}
AUTHORIZATION: Mapping[str, Check] = {
    "authorization_code": string,
    "bin": string,
    "last4": string,
    "exp_month": string,
    "exp_year": string,
    "channel": string,
    "card_type": string,
    "bank": string,
    "country_code": two_letters,
    "brand": string,
    "reusable": boolean,
    "signature": string,
    "account_name": or_null(string),
}
CUSTOMER: Mapping[str, Check] = {
    "id": integer,
    "first_name": or_null(string),
    "last_name": or_null(string),
    "email": email,
    "customer_code": string,
    "phone": or_null(string),
    "metadata": or_null(lambda value: type(value) is dict),
    "risk_action": string,
}
TRANSACTION: Mapping[str, Check] = {
    "id": integer,
    "domain": string,
    "status": string,
    "reference": string,
    "amount": integer,
    "message": string,
    "gateway_response": string,
    "paid_at": timestamp,
    "created_at": timestamp,
    "channel": string,
    "currency": currency,
    "ip_address": string,
    "metadata": string_or_object,
    "fees": integer,
    "log": fields(LOG),
    "authorization": fields(AUTHORIZATION),
    "customer": fields(CUSTOMER),
}

# What a request may carry.
CREATE_REQUEST: Mapping[str, Check] = {
    "name": string,
    "redirect_url": string,
    "metadata": lambda value: type(value) is dict,
    "slug": string,
    "amount": string,
    "description": string,
    "custom_fields": array,
}
UPDATE_REQUEST: Mapping[str, Check] = {
    "name": string,
    "amount": integer,
    "description": string,
    "active": boolean,
}
LIST_QUERY = frozenset({"perPage", "page", "from", "to"})


def differences(
    table: Mapping[str, Check], value: Any, *, optional: bool = False, more: bool = False
) -> list[str]:
    """Say where a JSON object departs from a table; `optional` and `more` allow for gaps."""
    if type(value) is not dict:
        return [f"{value!r} is no object"]
    found = [] if optional else [f"{name} is missing" for name in table if name not in value]
    found += [] if more else [f"{name} is not in the table" for name in value if name not in table]
    found += [
        f"{name} has the wrong type: {value[name]!r}"
        for name, check in table.items()
        if name in value and not check(value[name])
    ]
    return found
