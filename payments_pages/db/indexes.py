"""An index of text for Django's case-insensitive lookups, on every database."""

from typing import Any

from django.db import models
from django.db.backends.ddl_references import Columns, Statement

__all__ = ["CaseBlindIndex"]

_FOLDED = {
    "postgresql": "UPPER({column}) text_pattern_ops",
    "sqlite": "{column} COLLATE NOCASE",
}
"""What `iexact` and `istartswith` compare there. MariaDB and MySQL fold by the column's collation."""


class _FoldedColumns(Columns):
    """Columns as the database compares them without case."""

    template = "{column}"

    def __str__(self) -> str:
        return ", ".join(
            self.template.format(column=self.quote_name(column)) for column in self.columns
        )


class CaseBlindIndex(models.Index):
    """An index for `iexact` and `istartswith`, for which a plain index is not used.

    An index on `Upper()` helps on PostgreSQL only: MariaDB has no index on an expression, and
    SQLite runs those lookups as `LIKE`, for which it uses only an index without case.
    """

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        """Return Django's statement, with the columns folded."""
        statement: Statement = super().create_sql(model, schema_editor, using, **kwargs)
        plain: Any = statement.parts["columns"]
        folded = _FoldedColumns(plain.table, plain.columns, plain.quote_name)
        folded.template = _FOLDED.get(schema_editor.connection.vendor, folded.template)
        statement.parts["columns"] = folded
        return statement
