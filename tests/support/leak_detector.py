"""Look for what must not be told: in log records, answers, the database, the cache."""

import logging
import re
from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.core.cache import caches
from django.db import connection

KEY = "sk_test_LEAKME0001"
CODE = "AUTH_LEAKCODE1"
PAYER = "payer@example.test"

SECRETS = (KEY, "LEAKME", CODE, "LEAKCODE")
IN_LOGS = (*SECRETS, PAYER, "203.0.113.7")

STANDARD = frozenset(vars(logging.makeLogRecord({})))
# What the sandbox and the tests' own servers give away as keys and card codes.
ANY_SECRET = re.compile(r"AUTH_[0-9A-Za-z]{6,}|[sp]k_(?:test|live)_\w{5,}|LEAKME|(?i:bearer )\w")


def text_of(record: logging.LogRecord) -> str:
    """All that a handler can make of a record: message, arguments, extra, exception, stack."""
    extra = {name: value for name, value in vars(record).items() if name not in STANDARD}
    trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
    parts = (record.getMessage(), record.msg, record.args, extra, record.exc_text, trace)
    return "\n".join([*map(repr, parts), trace, record.getMessage()])


class Listener(logging.Handler):
    """Keep the text of every record."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.name}: {text_of(record)}")


class LeakDetector(logging.Handler):
    """Keep only the records that tell a secret: cheap enough for every test."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.leaks: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = f"{record.getMessage()} {record.exc_text or ''}"
        if ANY_SECRET.search(text):
            self.leaks.append(f"{record.name}: {text}")


class Watch:
    """Collect what was told, by where, and say what of it is a secret."""

    def __init__(self) -> None:
        self.listener = Listener()
        self.told: list[tuple[str, str]] = []

    def hear(self, where: str, text: object) -> None:
        """Remember a text that was told somewhere."""
        self.told.append((where, text if isinstance(text, str) else repr(text)))

    def answer(self, response: Any) -> Any:
        """Remember an HTTP answer, its headers too; give it back."""
        body = response.content.decode(errors="replace")
        self.hear("response", f"{response.status_code} {dict(response.headers)} {body}")
        return response

    def look_round(self) -> None:
        """Remember every column of every row, and every key and value of the cache."""
        for model in apps.get_models():
            for row in model._base_manager.values():
                self.hear(f"table {model._meta.db_table}", row)
        for alias in caches:
            self.hear(f"cache {alias}", getattr(caches[alias], "_cache", {}))
        self.hear("queries", connection.queries)

    def leaks(self) -> list[str]:
        """Name each secret and where it was told."""
        places: list[tuple[str, str, Iterable[str]]] = [
            ("log", text, IN_LOGS) for text in self.listener.texts
        ]
        places += [(where, text, SECRETS) for where, text in self.told]
        return [
            f"{secret} in {where}: {text[max(0, text.index(secret) - 120) :][:300]}"
            for where, text, secrets in places
            for secret in secrets
            if secret in text
        ]
