"""Checks of the cache that stores the budgets for unknown references."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name

from payments_pages.conf import conf

__all__ = ["check_cache", "check_shared_cache"]

_OWN = ("locmem.LocMemCache", "dummy.DummyCache")


@register(Tags.caches)
def check_cache(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E023: CACHE names no cache of the site."""
    if conf.cache in settings.CACHES:
        return []
    hint = f'"CACHE": one of {", ".join(sorted(settings.CACHES))}'
    return [
        Error(
            f"PAYMENTS_PAGES['CACHE'] names no cache: {conf.cache!r}.",
            hint=hint,
            id="payments_pages.E023",
        )
    ]


@register(Tags.caches, deploy=True)
def check_shared_cache(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W006: the cache is not shared by all processes."""
    backend = str(settings.CACHES.get(conf.cache, {}).get("BACKEND", ""))
    if not backend.endswith(_OWN):
        return []
    hint = '"CACHE": the alias of a cache all processes share, such as Redis'
    message = f"The cache {conf.cache!r} is not shared: each process keeps its own budgets."
    return [Warning(message, hint=hint, id="payments_pages.W006")]
