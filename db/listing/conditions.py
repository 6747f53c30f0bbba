"""What rows must meet, read as Python, for stores whose servers cannot tell, and as text, for cursors.

Rules of this file: what a condition means is said by the port (db/store.py); sqlite_plans.py reads it as SQL, and the
contract of stores holds both equal.
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
    """Rows that meet all tests; a test looks at those alone that the ones before it left."""
    for test in where:
        rows = [*filter(_reader(test), rows)]
    return rows


def columns_of(where: Where) -> list[str]:
    """What they look at."""
    return [condition.column for test in where for condition in test]


def text_of(where: Where) -> str:
    """What tells them from any others."""
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
