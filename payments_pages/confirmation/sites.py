"""The binding of the tables to one site: a copy of the database delivers nothing.

The first sweep of a site with a `SITE_URL` binds the tables to it. Another site that uses them, or
a copy of them, is refused: its sweep ends with an error, and its doors answer "cannot be confirmed
right now", until a person runs `payments_pages_move`. A site is the host and port of `SITE_URL`
(`models.ownership`); http and https are the same. A site without `SITE_URL` neither binds nor is
refused, because nothing says which site it is.
"""

import threading
import time
from typing import Final

from django.db import IntegrityError, transaction

from payments_pages.conf import conf
from payments_pages.db import retry_transient
from payments_pages.exceptions import OtherSite
from payments_pages.models import SiteBinding, primary_alias, this_site

__all__ = [
    "BELIEVED_FOR",
    "bind_tables",
    "forget_binding",
    "move_tables",
    "read_binding",
    "refuse_other_site",
]

BELIEVED_FOR: Final = 30.0
"""Seconds for which a process does not look again after it has seen that the tables are this
site's. So the look costs nothing on each payment; after a move the old site stops within this time."""

_believed: dict[tuple[str, str], float] = {}
_guard: Final = threading.Lock()


def read_binding() -> SiteBinding | None:
    """Return the site that the tables are bound to; None if no sweep has bound them yet."""
    return SiteBinding.objects.primary().filter(pk=SiteBinding.ONLY).first()


def refuse_other_site() -> None:
    """Raise `OtherSite` if the tables are bound to another site than this one."""
    site = this_site()
    if not site or _is_believed(site):
        return
    binding = retry_transient(lambda _number: read_binding(), using=_alias())
    if binding is not None and binding.site != site:
        raise OtherSite(
            f"These tables belong to {binding.url}, and SITE_URL is {conf.site_url}. Nothing is "
            "asked and delivered here. If this site has replaced that one, stop that one and run "
            "payments_pages_move; if this is a copy for tests, empty its tables first."
        )
    with _guard:
        _believed[_alias(), site] = time.monotonic() + BELIEVED_FOR


def bind_tables() -> None:
    """Bind the tables to this site if nothing is bound yet. Raise `OtherSite` like the above.

    A sweep calls it. The look is made anew each time.
    """
    forget_binding()
    if this_site() and read_binding() is None:
        try:
            with transaction.atomic(using=_alias()):
                _here().save(using=_alias(), force_insert=True)
        except IntegrityError:
            if read_binding() is None:
                raise
    refuse_other_site()


def move_tables() -> SiteBinding:
    """Bind the tables to this site, whichever they were bound to; return the row.

    Raise `OtherSite` if `SITE_URL` does not say which site this is.
    """
    if not this_site():
        raise OtherSite("SITE_URL is not set, so nothing says which site this is.")
    row = _here()
    with transaction.atomic(using=_alias()):
        SiteBinding.objects.primary().filter(pk=SiteBinding.ONLY).delete()
        row.save(using=_alias(), force_insert=True)
    forget_binding()
    return row


def forget_binding() -> None:
    """Let the next caller of this process look again."""
    with _guard:
        _believed.clear()


def _is_believed(site: str) -> bool:
    return time.monotonic() < _believed.get((_alias(), site), 0.0)


def _here() -> SiteBinding:
    return SiteBinding(site=this_site()[:255], url=conf.site_url[:255])


def _alias() -> str:
    return primary_alias(SiteBinding)
