"""Evaluates conditions on rows in Python, for stores whose server cannot, and formats them for cursors.

The port (db/store.py) defines the meaning of a condition. db/sqlite/plans.py renders it as SQL, and the store contract
tests check that both agree.
"""

import operator
from collections.abc import Callable
from typing import Any

from db.store import Condition, Row, Test, Where

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def meeting(rows: list[Row], where: Where) -> list[Row]:
    """Rows that satisfy all tests. Each test checks only the rows that the previous ones left."""
    for test in where:
        rows = [*filter(_reader(test), rows)]
    return rows


def columns_of(where: Where) -> list[str]:
    """The columns in the conditions."""
    return [condition.column for test in where for condition in test]


def text_of(where: Where) -> str:
    """A text that identifies the conditions."""
    return " ".join(["|".join([f"{each.column} {each.relation} {each.value!r}" for each in test]) for test in where])


def _reader(test: Test) -> Callable[[Row], bool]:
    readers = [_condition_reader(each) for each in test]
    return readers[0] if len(readers) == 1 else lambda row: any(holds(row) for holds in readers)


def _condition_reader(condition: Condition) -> Callable[[Row], bool]:
    column, value = condition.column, condition.value
    if condition.relation == "null":
        return lambda row: row[column] is None
    if condition.relation == "not null":
        return lambda row: row[column] is not None
    compare = COMPARE[condition.relation]
    return lambda row: row[column] is not None and compare(row[column], value)
