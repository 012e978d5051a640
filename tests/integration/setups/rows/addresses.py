"""Where the site and our URLs are mounted."""

from tests.integration.setups.setup import Setup

__all__ = ["ROWS"]

URLS = "tests.integration.setups.project"

ROWS = (
    Setup(
        name="below a path, by the proxy",
        special="A proxy names the path in the header `SCRIPT_NAME`, which gunicorn heeds.",
        holds=(
            "Every link stays below the path. `STATIC_URL` must name it, and commands do not know "
            "it: make pages in the admin, or set `FORCE_SCRIPT_NAME`."
        ),
        settings={"STATIC_URL": "/market/static/"},
        static="^/market/static/",
        server="gunicorn",
        proxy="script-name",
        prefix="/market",
    ),
    Setup(
        name="below a path, by the settings",
        special="`FORCE_SCRIPT_NAME`, behind a proxy that takes the path away.",
        holds="Every link stays below the path, and addresses have it once.",
        settings={"FORCE_SCRIPT_NAME": "/market"},
        static="^/market/static/",
        proxy="strip",
        prefix="/market",
    ),
    Setup(
        name="another path and namespace",
        special='`include(("payments_pages.urls", "payments_pages"), namespace="pay")` below another path.',
        holds=(
            "Everything: Django finds `payments_pages:…` by the name of the app. "
            "Include the URLs only once."
        ),
        urls=f"{URLS}.urls_namespace",
        doors="/buy/checkout/",
    ),
)
