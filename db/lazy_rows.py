"""Rows as a store returned them, which become dicts when they are read.

Most pages show one column of their rows. Its values are read directly, which takes a third of the time of the dicts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias, overload

from db.store import Row

Native: TypeAlias = Sequence[Sequence[Any]]
"""Rows as the driver of a store returns them: their values in the order of the columns."""

FEW = 10
"""Rows that become dicts at once, because that takes no longer."""


def compiled(expression: str) -> Any:
    """The value of an expression, a function, which contains no names but those of the schema."""
    return eval(expression)  # noqa: S307 (our names)


class RowForm:
    """Converts native rows of certain columns, by list displays that are compiled once, like SQL.

    A page has a hundred rows, and looking up each column's type for each row costs more than reading it.
    """

    def __init__(self, expressions: Mapping[str, str]) -> None:
        """`expressions`: the Python expression of the value of each column, in their order, by its name."""
        self._expressions = expressions
        self._values: dict[str, Callable[[Native], list[Any]]] = {}
        self.rows: Callable[[Native], list[Row]]
        self.rows = self._compiled(f"{{{', '.join(f'{name!r}: {value}' for name, value in expressions.items())}}}")

    def read(self, native: Native) -> Sequence[Row]:
        """The rows, as dicts if they are few."""
        return LazyRows(native, self) if len(native) > FEW else self.rows(native)

    def values(self, native: Native, name: str) -> list[Any]:
        """The values of a column. Raises KeyError if it was not read."""
        convert = self._values.get(name)
        if convert is None:
            convert = self._values[name] = self._compiled(self._expressions[name])
        return convert(native)

    def _compiled(self, display: str) -> Callable[[Native], list[Any]]:
        function: Callable[[Native], list[Any]]
        function = compiled(f"lambda native: [{display} for {', '.join(self._expressions)}, in native]")
        return function


class LazyRows(Sequence[Row]):
    """A sequence of rows. All of them become dicts when they are iterated over."""

    __slots__ = ("_form", "_native", "_rows")

    def __init__(self, native: Native, form: RowForm) -> None:
        self._native, self._form = native, form
        self._rows: list[Row] | None = None

    def values(self, name: str) -> list[Any]:
        """The values of a column. Raises KeyError if it was not read."""
        return self._form.values(self._native, name)

    def rows(self) -> list[Row]:
        """The rows as dicts, always the same ones."""
        if self._rows is None:
            self._rows = self._form.rows(self._native)
        return self._rows

    def __len__(self) -> int:
        return len(self._native)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if self._rows is not None:
            return self._rows[at]
        if isinstance(at, slice):
            return LazyRows(self._native[at], self._form)
        # The ends of a page are read to find its position.
        return self._form.rows([self._native[at]])[0]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __eq__(self, other: object) -> bool:
        return self.rows() == other


class JoinedRows(Sequence[Row]):
    """Parts of a page, one after the other."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Sequence[Row]]) -> None:
        self._parts = parts

    def values(self, name: str) -> list[Any]:
        """The values of a column that all parts have."""
        return [value for part in self._parts for value in values_of(part, name)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return [*self][at]

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self._parts)

    def __eq__(self, other: object) -> bool:
        return [*self] == other


def joined(parts: Sequence[Sequence[Row]]) -> Sequence[Row]:
    """The rows of all parts."""
    return parts[0] if len(parts) == 1 else JoinedRows(parts)


def values_of(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column in any rows."""
    # `isinstance` of an abstract base class takes as long as a few rows.
    if type(rows) is not list and isinstance(rows, (LazyRows, JoinedRows)):
        return rows.values(name)
    return [row[name] for row in rows]
