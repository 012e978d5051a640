"""Let Django write a statement's SQL once per connection, and run it with other values after that.

Most of the time that Django's ORM spends on a small statement goes into writing its SQL, which
for the statements of the path is the same for every payment. What is kept is the SQL that
Django's own compiler wrote for this very connection, so it is right on every database; values
go through their field's own preparation, rows through Django's own making of objects.

    _BY_KEY = Select(lambda: Verification.objects.filter(
        reference_key=Given("key", models.CharField())))
    _BY_KEY.first(using, key="…")

Use it where the path is hot, and the ORM everywhere else.
"""

from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from types import NoneType
from typing import Any, Generic, TypeVar, cast

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    AutoField,
    BooleanField,
    CharField,
    Expression,
    Field,
    ForeignKey,
    IntegerField,
    Model,
    QuerySet,
    TextField,
)
from django.db.models.query import ModelIterable
from django.db.models.signals import post_save, pre_save
from django.db.models.sql import InsertQuery, UpdateQuery
from django.db.transaction import mark_for_rollback_on_error

from payments_pages.db.transient import retry_transient

__all__ = ["Given", "Insert", "Select", "Update"]

_KEPT = "_payments_pages_statements"

_PLAIN = (AutoField, BooleanField, CharField, ForeignKey, IntegerField, TextField)
_AS_IT_IS = frozenset({bool, int, str, NoneType})
"""Types that every driver takes as they are, for the fields above."""

Row = TypeVar("Row", bound=Model)


class Given(Expression):
    """Stand in a queryset for a value that is given, by this name, when the statement is run."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name
        self._plain = isinstance(field, _PLAIN)

    def as_sql(self, _compiler: object, _connection: object) -> Any:
        """Leave a place in the parameters."""
        return "%s", [self]

    def prepared(self, value: object, connection: BaseDatabaseWrapper) -> Any:
        """Return a value as this connection's driver takes it."""
        if self._plain and type(value) in _AS_IT_IS:
            return value
        return self.output_field.get_db_prep_save(value, connection)


class _Sql:
    """Keep a statement's text, and which of its parameters are given."""

    __slots__ = ("_given", "_params", "text")

    def __init__(self, text: str, params: Iterable[Any]) -> None:
        self.text = text
        self._params = list(params)
        self._given = [
            (place, param) for place, param in enumerate(self._params) if isinstance(param, Given)
        ]

    def params(self, values: dict[str, Any], connection: BaseDatabaseWrapper) -> list[Any]:
        params = self._params.copy()
        for place, given in self._given:
            params[place] = given.prepared(values[given.name], connection)
        return params


class _Kept:
    """Hold what was compiled for a connection, and let one thread at a time run it.

    Threads share a connection in a LiveServerTestCase on SQLite in memory, and from Python 3.12
    on its driver gives both the same prepared statement, and one the other's row.
    """

    __slots__ = ("compiled", "lock")

    def __init__(self) -> None:
        self.compiled: dict[Any, Any] = {}
        self.lock = RLock()


class _Statement:
    """Keep what was compiled on the connection itself: it is used, and ends, with that."""

    def _compiled(self, connection: BaseDatabaseWrapper, kind: object = None) -> Any:
        kept = self._kept(connection).compiled
        found = kept.get((self, kind))
        if found is None:
            found = kept[self, kind] = self._compile(connection, kind)
        return found

    @staticmethod
    def _kept(connection: BaseDatabaseWrapper) -> _Kept:
        own = vars(connection)
        kept: _Kept = own.get(_KEPT) or own.setdefault(_KEPT, _Kept())
        return kept

    def _compile(self, connection: BaseDatabaseWrapper, kind: Any) -> Any:
        raise NotImplementedError


class Select(_Statement, Generic[Row]):
    """Read one row by a queryset of model objects; `select_related` and annotations are welcome."""

    def __init__(self, build: Callable[[], "QuerySet[Row]"]) -> None:
        self._build = build

    def first(self, using: str, **values: object) -> Row | None:
        """Return the first row, or None; again after a passing error, outside of transactions."""
        return retry_transient(lambda _number: self._first(using, values), using=using)

    def _first(self, using: str, values: dict[str, object]) -> Row | None:
        connection = connections[using]
        with self._kept(connection).lock:
            sql, compiler, objects = self._compiled(connection)
            with connection.cursor() as cursor:
                cursor.execute(sql.text, sql.params(values, connection))
                row = cursor.fetchone()
            if row is None:
                return None
            compiler.execute_sql = lambda *_arguments, **_named: [[row]]
            return cast("Row", next(iter(objects)))

    def _compile(self, connection: BaseDatabaseWrapper, _kind: object) -> Any:
        queryset = self._build().using(connection.alias)[:1]
        compiler: Any = queryset.query.get_compiler(connection=connection)
        sql = _Sql(*compiler.as_sql())
        converters = compiler.get_converters([one[0] for one in compiler.select])
        compiler.get_converters = lambda _expressions: converters
        queryset.query.get_compiler = lambda *_arguments, **_named: compiler  # type: ignore[method-assign]
        return sql, compiler, ModelIterable(queryset)


class Update(_Statement):
    """Change the rows of a queryset; `build` returns it and what to set, by field."""

    def __init__(self, build: Callable[[], "tuple[QuerySet[Any], dict[str, Any]]"]) -> None:
        self._build = build

    def run(self, using: str, **values: object) -> int:
        """Return how many rows the condition has matched."""
        connection = connections[using]
        with (
            self._kept(connection).lock,
            mark_for_rollback_on_error(using),
            connection.cursor() as cursor,
        ):
            sql = self._compiled(connection)
            cursor.execute(sql.text, sql.params(values, connection))
            return int(cursor.rowcount)

    def _compile(self, connection: BaseDatabaseWrapper, _kind: object) -> _Sql:
        queryset, changes = self._build()
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values(changes)
        return _Sql(*query.get_compiler(connection=connection).as_sql())


class Insert(_Statement, Generic[Row]):
    """Insert new objects of a model; `expressions`, by field, are for the database to evaluate.

    The objects are afterwards as `save()` leaves them, and Django's `pre_save` and `post_save`
    go out for them; a field that the database has evaluated is read from there when first asked
    for.
    """

    def __init__(self, model: type[Row], **expressions: Any) -> None:
        self._model = model
        self._expressions = expressions

    def run(self, using: str, row: Row, **values: object) -> None:
        """Insert one object and give it its key."""
        connection = connections[using]
        meta: Any = self._model._meta  # noqa: SLF001 - Django documents it
        sent = {"sender": self._model, "instance": row, "raw": False, "using": using}
        pre_save.send(**sent, update_fields=None)
        with (
            self._kept(connection).lock,
            mark_for_rollback_on_error(using),
            connection.cursor() as cursor,
        ):
            self._execute(cursor, connection, [row], values)
            if connection.features.can_return_columns_from_insert:
                key = cursor.fetchone()[0]
            else:
                key = connection.ops.last_insert_id(cursor, meta.db_table, meta.pk.column)
        row.pk = key
        self._keep(row, using)
        post_save.send(**sent, created=True, update_fields=None)

    def run_all(self, using: str, rows: Sequence[Row]) -> None:
        """Insert several objects in one statement; like `bulk_create`, without keys and signals."""
        connection = connections[using]
        with (
            self._kept(connection).lock,
            mark_for_rollback_on_error(using),
            connection.cursor() as cursor,
        ):
            self._execute(cursor, connection, rows, {}, keys=False)
        for row in rows:
            self._keep(row, using)

    def _execute(
        self,
        cursor: Any,
        connection: BaseDatabaseWrapper,
        rows: Sequence[Row],
        values: dict[str, Any],
        *,
        keys: bool = True,
    ) -> None:
        sql, places = self._compiled(connection, (len(rows), keys))
        for name, number, field in places:
            values[name] = field.pre_save(rows[number], add=True)
        cursor.execute(sql.text, sql.params(values, connection))

    def _keep(self, row: Row, using: str) -> None:
        state = row._state  # noqa: SLF001 - Django documents it
        state.adding, state.db = False, using
        for name in self._expressions:
            vars(row).pop(name, None)

    def _compile(self, connection: BaseDatabaseWrapper, kind: Any) -> Any:
        count, keys = kind
        meta = self._model._meta  # noqa: SLF001 - Django documents it
        fields = [field for field in meta.concrete_fields if field is not meta.pk]
        places = [
            (f"{number} {field.attname}", number, field)
            for number in range(count)
            for field in fields
            if field.attname not in self._expressions
        ]
        rows = [_Placeholders(self._expressions) for _number in range(count)]
        for name, number, field in places:
            setattr(rows[number], field.attname, Given(name, field))
        query: Any = InsertQuery(self._model)
        query.insert_values(fields, rows, raw=True)
        compiler: Any = query.get_compiler(connection=connection)
        if keys:
            compiler.returning_fields = [meta.pk]
        ((text, params),) = compiler.as_sql()
        return _Sql(text, params), places


class _Placeholders:
    """Hold one expression for each field, as an object would hold its values."""

    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
