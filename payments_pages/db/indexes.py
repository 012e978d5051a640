"""Index text so that Django's case-blind lookups find it, on every database."""

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
    """Be columns as the database compares them when case does not matter."""

    template = "{column}"

    def __str__(self) -> str:
        return ", ".join(
            self.template.format(column=self.quote_name(column)) for column in self.columns
        )


class CaseBlindIndex(models.Index):
    """Serve `iexact` and `istartswith`: a plain index serves neither of them.

    An index on `Upper()` would do on PostgreSQL alone: MariaDB has no index on an expression, and
    on SQLite those lookups are a `LIKE`, which only an index without case can serve.
    """

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        """Return Django's statement, with the columns folded."""
        statement: Statement = super().create_sql(model, schema_editor, using, **kwargs)
        plain: Any = statement.parts["columns"]
        folded = _FoldedColumns(plain.table, plain.columns, plain.quote_name)
        folded.template = _FOLDED.get(schema_editor.connection.vendor, folded.template)
        statement.parts["columns"] = folded
        return statement
