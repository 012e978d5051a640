"""Statements whose SQL Django writes once per connection, and that then run with other values.

Django's ORM spends most of the time of a small statement on writing its SQL, which for the
statements of the path is the same for every payment. We keep the SQL that Django's own compiler
wrote for this connection, so it is right on every database. Values go through the preparation of
their field, and rows through Django's own making of objects.

    VERIFICATION_BY_KEY = Select(
        lambda key: Verification.objects.filter(reference_key=key), key=CharField()
    )
    VERIFICATION_BY_KEY.first(using, key="…")

This needs parts of the ORM that Django does not document. On a Django that is not in
`READ_AGAINST`, and on a connection that threads share (a `LiveServerTestCase` on SQLite in
memory), each statement runs as the plain queryset or `save()` that it is written as: slower, with
the same result.

Use it where the path is hot, and the ORM everywhere else.
"""

from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any, Final, Generic, TypeVar, cast

import django
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

__all__ = ["READ_AGAINST", "Insert", "Select", "Update"]

READ_AGAINST: Final = frozenset({(5, 2), (6, 0), (6, 1)})
"""Series of Django that this file was read and tested against; CI runs each of them."""

_KEPT = "_payments_pages_statements"

_SIMPLE_FIELDS = (AutoField, BooleanField, CharField, ForeignKey, IntegerField, TextField)
_SIMPLE_TYPES = frozenset({bool, int, str, NoneType})
"""Types that every driver takes as they are, for the fields above."""

Row = TypeVar("Row", bound=Model)


class _Parameter(Expression):
    """The place, in a queryset, of a value that is passed when the statement runs."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name
        self._is_simple = isinstance(field, _SIMPLE_FIELDS)

    def as_sql(self, _compiler: object, _connection: object) -> Any:
        """Leave a place in the parameters."""
        return "%s", [self]

    def prepared(self, value: object, connection: BaseDatabaseWrapper) -> Any:
        """Return a value as this connection's driver takes it."""
        if self._is_simple and type(value) in _SIMPLE_TYPES:
            return value
        return self.output_field.get_db_prep_save(value, connection)


class _Sql:
    """The text of a statement, and which of its parameters are passed when it runs."""

    __slots__ = ("_params", "_places", "text")

    def __init__(self, text: str, params: Iterable[Any]) -> None:
        self.text = text
        self._params = list(params)
        self._places = [
            (place, param)
            for place, param in enumerate(self._params)
            if isinstance(param, _Parameter)
        ]

    def params(self, values: dict[str, Any], connection: BaseDatabaseWrapper) -> list[Any]:
        params = self._params.copy()
        for place, parameter in self._places:
            params[place] = parameter.prepared(values[parameter.name], connection)
        return params


class _Statement:
    """A statement, built by a function of its values; `fields` are the types of these values.

    What is compiled is kept on the connection itself, and ends with it.
    """

    def __init__(self, build: Callable[..., Any], fields: "dict[str, Field[Any, Any]]") -> None:
        self._build = build
        self._parameters = {name: _Parameter(name, field) for name, field in fields.items()}

    @staticmethod
    def _may_compile(connection: BaseDatabaseWrapper) -> bool:
        # Threads that share a connection would share what is compiled, and get each other's rows.
        # (From Python 3.12 on sqlite3 gives such threads one prepared statement, so that at the same
        # moment no query of Django's is safe there. That is not ours to repair.)
        return django.VERSION[:2] in READ_AGAINST and not connection.allow_thread_sharing

    def _compiled(self, connection: BaseDatabaseWrapper, kind: object = None) -> Any:
        kept: dict[Any, Any] = vars(connection).setdefault(_KEPT, {})
        found = kept.get((self, kind))
        if found is None:
            found = kept[self, kind] = self._compile(connection, kind)
        return found

    def _compile(self, connection: BaseDatabaseWrapper, kind: Any) -> Any:
        raise NotImplementedError


class Select(_Statement, Generic[Row]):
    """The first row of a queryset of model objects; `select_related` and annotations may be used.

    `build` returns the queryset for values, which it gets by name.
    """

    def __init__(self, build: "Callable[..., QuerySet[Row]]", **fields: "Field[Any, Any]") -> None:
        super().__init__(build, fields)

    def first(self, using: str, **values: object) -> Row | None:
        """Return the first row, or None; retry a brief database error outside of transactions."""
        return retry_transient(lambda _number: self._first(using, values), using=using)

    def _first(self, using: str, values: dict[str, object]) -> Row | None:
        connection = connections[using]
        if not self._may_compile(connection):
            return next(iter(self._build(**values).using(using)[:1]), None)
        sql, compiler, objects = self._compiled(connection)
        with connection.cursor() as cursor:
            cursor.execute(sql.text, sql.params(values, connection))
            row = cursor.fetchone()
        if row is None:
            return None
        compiler.execute_sql = lambda *_arguments, **_named: [[row]]
        return cast("Row", next(iter(objects)))

    def _compile(self, connection: BaseDatabaseWrapper, _kind: object) -> Any:
        queryset = self._build(**self._parameters).using(connection.alias)[:1]
        compiler: Any = queryset.query.get_compiler(connection=connection)
        sql = _Sql(*compiler.as_sql())
        converters = compiler.get_converters([one[0] for one in compiler.select])
        compiler.get_converters = lambda _expressions: converters
        queryset.query.get_compiler = lambda *_arguments, **_named: compiler
        return sql, compiler, ModelIterable(queryset)


class Update(_Statement):
    """A change of the rows of a queryset.

    `build` returns, for values that it gets by name, the queryset and what to set, by field.
    """

    def __init__(
        self,
        build: "Callable[..., tuple[QuerySet[Any], dict[str, Any]]]",
        **fields: "Field[Any, Any]",
    ) -> None:
        super().__init__(build, fields)

    def run(self, using: str, **values: object) -> int:
        """Return how many rows the condition has matched."""
        connection = connections[using]
        if not self._may_compile(connection):
            queryset, changes = self._build(**values)
            return int(queryset.using(using).update(**changes))
        with mark_for_rollback_on_error(using), connection.cursor() as cursor:
            sql = self._compiled(connection)
            cursor.execute(sql.text, sql.params(values, connection))
            return int(cursor.rowcount)

    def _compile(self, connection: BaseDatabaseWrapper, _kind: object) -> _Sql:
        queryset, changes = self._build(**self._parameters)
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values(changes)
        return _Sql(*query.get_compiler(connection=connection).as_sql())


class Insert(_Statement, Generic[Row]):
    """New rows of a model.

    `build` returns, by field, the expressions that the database evaluates; it gets by name the
    values of the statement that belong to no object.

    The objects are afterwards as `save()` leaves them, and Django's `pre_save` and `post_save`
    are sent for them. A field that the database has evaluated is read when first asked for.
    """

    def __init__(
        self,
        model: type[Row],
        build: Callable[..., dict[str, Any]] = dict,
        **fields: "Field[Any, Any]",
    ) -> None:
        super().__init__(build, fields)
        self._model = model
        self._expressions = build(**self._parameters)

    def run(self, using: str, row: Row, **values: object) -> None:
        """Insert one object and set its primary key."""
        connection = connections[using]
        if not self._may_compile(connection):
            self._evaluate_in_database([row], values)
            row.save(using=using, force_insert=True)
            self._mark_saved(row, using)
            return
        meta: Any = self._model._meta  # noqa: SLF001 - Django documents it
        sent = {"sender": self._model, "instance": row, "raw": False, "using": using}
        pre_save.send(**sent, update_fields=None)
        # SQLite copies each page that a statement with RETURNING changes, to be able to undo it
        # alone: for a payment that is a file of 100 kB.
        returns = (
            connection.features.can_return_columns_from_insert and connection.vendor != "sqlite"
        )
        with mark_for_rollback_on_error(using), connection.cursor() as cursor:
            self._execute(cursor, connection, [row], values, returns=returns)
            if returns:
                key = cursor.fetchone()[0]
            else:
                key = connection.ops.last_insert_id(cursor, meta.db_table, meta.pk.column)
        row.pk = key
        self._mark_saved(row, using)
        post_save.send(**sent, created=True, update_fields=None)

    def run_all(self, using: str, rows: Sequence[Row], **values: object) -> None:
        """Insert several objects in one statement; like `bulk_create`, without signals.

        Do not use their primary keys: not every database returns them.
        """
        connection = connections[using]
        if not self._may_compile(connection):
            self._evaluate_in_database(rows, values)
            self._model._default_manager.using(using).bulk_create(rows)  # noqa: SLF001 - Django documents it
        else:
            with mark_for_rollback_on_error(using), connection.cursor() as cursor:
                self._execute(cursor, connection, rows, values, returns=False)
        for row in rows:
            self._mark_saved(row, using)

    def _evaluate_in_database(self, rows: Sequence[Row], values: dict[str, Any]) -> None:
        for row in rows:
            vars(row).update(self._build(**values))

    def _execute(
        self,
        cursor: Any,
        connection: BaseDatabaseWrapper,
        rows: Sequence[Row],
        values: dict[str, Any],
        *,
        returns: bool,
    ) -> None:
        sql, places = self._compiled(connection, (len(rows), returns))
        for name, number, field in places:
            values[name] = field.pre_save(rows[number], add=True)
        cursor.execute(sql.text, sql.params(values, connection))

    def _mark_saved(self, row: Row, using: str) -> None:
        state = row._state  # noqa: SLF001 - Django documents it
        state.adding, state.db = False, using
        for name in self._expressions:
            vars(row).pop(name, None)

    def _compile(self, connection: BaseDatabaseWrapper, kind: Any) -> Any:
        count, returns = kind
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
            setattr(rows[number], field.attname, _Parameter(name, field))
        query: Any = InsertQuery(self._model)
        query.insert_values(fields, rows, raw=True)
        compiler: Any = query.get_compiler(connection=connection)
        if returns:
            compiler.returning_fields = [meta.pk]
        ((text, params),) = compiler.as_sql()
        return _Sql(text, params), places


class _Placeholders:
    """One expression for each field, where Django expects an object with its values."""

    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
