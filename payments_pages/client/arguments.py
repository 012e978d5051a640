"""Write a caller's arguments as the service's interface wants them, or refuse them."""

import datetime as dt

__all__ = ["Moment", "iso_text", "minor_units", "page_key", "positive"]

Moment = dt.datetime | dt.date


def minor_units(amount: int) -> int:
    """Give an amount back if it is a positive int of minor units; else raise `ValueError`."""
    if type(amount) is not int or amount < 1:
        raise ValueError("An amount is a positive int of minor units.")
    return amount


def positive(number: int) -> int:
    """Give a number of the paging back if it is a positive int; else raise `ValueError`."""
    if type(number) is not int or number < 1:
        raise ValueError("per_page and page are positive integers.")
    return number


def page_key(id_or_slug: int | str) -> str:
    """Write what names a page as the text of one path segment; else raise `ValueError`."""
    if type(id_or_slug) not in (int, str):
        raise ValueError("A page is named by its id or its slug.")
    return str(id_or_slug)


def iso_text(moment: Moment) -> str:
    """Write ISO 8601: a date as it is, a datetime in UTC with Z.

    Raise `ValueError` for a naive datetime: it could mean any hour.
    """
    if not isinstance(moment, dt.datetime):
        return moment.isoformat()
    if moment.utcoffset() is None:
        raise ValueError("from_ and to are dates or aware datetimes.")
    return moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"
