"""Find and call the merchant's function."""

from collections.abc import Callable
from typing import cast

from django.utils.module_loading import import_string

from payments_pages.conf import conf
from payments_pages.exceptions import ConfigurationError
from payments_pages.models import Fulfilment

__all__ = ["Handler", "load_function", "load_handler"]

Handler = Callable[[Fulfilment], object]


def load_handler() -> Handler:
    """Return the function that `HANDLER` names; raise `ConfigurationError` if there is none."""
    return load_function("HANDLER", conf.handler)


def load_function(setting: str, path: str) -> Callable[..., object]:
    """Return the callable at a path that a setting gives; raise `ConfigurationError` if none is."""
    try:
        function = import_string(path)
    except ImportError as error:
        raise ConfigurationError(f"{setting} {path!r} cannot be imported: {error}") from error
    if not callable(function):
        raise ConfigurationError(f"{setting} {path!r} is not callable.")
    return cast("Callable[..., object]", function)
