"""Views of the site's own that call `confirm_payment`, in whatever they are built with."""

from tests.integration.setups.setup import Setup
from tests.support import base_settings

__all__ = ["ROWS"]

URLS = "tests.integration.setups.project"
APPS = [*base_settings.INSTALLED_APPS, "payments_pages", "tests.support.goods"]

ROWS = (
    Setup(
        name="Django REST framework",
        special="An `@api_view` calls `confirm_payment`.",
        holds="It returns what became of the payment; twice gives once.",
        settings={"INSTALLED_APPS": ["rest_framework", *APPS]},
        urls=f"{URLS}.urls_drf",
        own_door="/api/confirm/",
        needs=("rest_framework",),
    ),
    Setup(
        name="Django Ninja",
        special="An operation of a `NinjaAPI` calls `confirm_payment`.",
        holds="As above.",
        urls=f"{URLS}.urls_ninja",
        own_door="/api/confirm",
        needs=("ninja",),
    ),
    Setup(
        name="own view",
        special="A view of the site's own calls `confirm_payment`.",
        holds="As above.",
        own_door="/shop/confirm/",
    ),
    Setup(
        name="own async view",
        special="An `async def` view calls `confirm_payment` by `sync_to_async`, under uvicorn.",
        holds="As above.",
        own_door="/shop/confirm-async/",
        server="uvicorn",
        needs=("uvicorn",),
    ),
    Setup(
        name="own async view under WSGI",
        special="The same view, served by WSGI.",
        holds="As above.",
        own_door="/shop/confirm-async/",
    ),
    Setup(
        name="atomic requests",
        special="`ATOMIC_REQUESTS`; a view of the site's own calls `confirm_payment_on_commit`.",
        holds="Our views open short transactions of their own; the call comes after the commit.",
        settings={"DATABASES": {"default": {"ATOMIC_REQUESTS": True}}},
        own_door="/shop/confirm-later/",
    ),
)
