"""Servers other than Django's own."""

from tests.integration.setups.setup import Setup
from tests.support import base_settings

__all__ = ["ROWS"]

ROWS = (
    Setup(
        name="uvicorn",
        special="ASGI by uvicorn, with a middleware that is async alone.",
        holds="Everything; the export streams there, too.",
        settings={
            "MIDDLEWARE": [
                "tests.integration.setups.project.async_middleware.count",
                *base_settings.MIDDLEWARE_WITH_LOCALE,
            ]
        },
        headers={"X-Counted": "1"},
        server="uvicorn",
        needs=("uvicorn",),
    ),
    Setup(
        name="gunicorn behind a proxy",
        special=(
            "gunicorn on a unix socket; the proxy sends a `Host` of its own, and the payer's as "
            "`X-Forwarded-Host` (`USE_X_FORWARDED_HOST`)."
        ),
        holds=(
            "Everything; on a unix socket there is no `REMOTE_ADDR`, so that all payers share "
            "one budget until a middleware sets it."
        ),
        settings={"USE_X_FORWARDED_HOST": True},
        server="gunicorn",
        proxy="host",
    ),
)
