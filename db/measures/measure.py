"""What a measure declares, and SQL fragments that several measures share.

A measure is a group of columns of `ms_analytics` that are computed together. Schema, migrations, series, API and docs
are derived from its declaration. Expressions are Spark SQL text, which `etl.analytics.milestones` evaluates: they can
run no Python per row, and nothing here imports Spark.
"""

from dataclasses import dataclass
from enum import Enum

from db.model import Column, Type

FIRST_LAYOUT = 7
"""The layout that created ms_analytics. Its columns come with the table; those of later layouts are added to it."""

NO_TRANSACTION, INCLUDED, CONFLICTING = 0, 1, 2
"""Values of inclusion_state."""


class Kind(Enum):
    """What a measure is computed from, and how milestones combine to an hour or a day."""

    MESSAGE = "message"
    """From the messages of a milestone (`etl.analytics.entries`). Hours and days are sums."""

    FLOW = "flow"
    """From the ledger changes of a milestone. Null beyond the ledger index. Hours and days are sums."""

    STATE = "state"
    """What the ledger changes of a milestone add to a total. The table stores the total after the milestone, and an
    hour or a day has that of its last milestone. Null beyond the ledger index."""

    CALENDAR = "calendar"
    """Addresses that were active so far in the UTC interval of the milestone. The expression names the interval: day,
    week, month or year. An hour or a day has the number of its last milestone. Null beyond the ledger index."""


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column of ms_analytics. In the API a column whose name ends with _tokens, _amount or _owed is an amount of base
    tokens (a string); all others are numbers.

    `expression`: a Spark SQL aggregate over the rows of one milestone; `{genesis}` stands for the index of genesis.
    """

    name: str
    type: Type
    meaning: str
    expression: str


@dataclass(frozen=True, slots=True)
class Measure:
    """The declaration of a measure: MEASURE in a module of this package.

    `rows`: the rows that the expressions aggregate. Default: the entries of messages for MESSAGE, all columns of
    `etl.ledger_state.changes.CHANGES` for FLOW and STATE. `balances` are the balances of `etl.ledger_state.balances`.
    Anything else is a query FROM {changes} or {balances} that selects milestone_index and what the expressions need.
    `layout`: the layout that adds the columns to existing stores: a number that no other layout has.
    `is_summable`: whether the sum over the milestones of an hour or a day has a meaning.
    """

    kind: Kind
    columns: tuple[MeasureColumn, ...]
    rows: str = "changes"
    layout: int = FIRST_LAYOUT
    is_summable: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in declared order."""
        return tuple(column.name for column in self.columns)

    @property
    def table_columns(self) -> tuple[Column, ...]:
        """The columns as ms_analytics declares them."""
        added = 0 if self.layout == FIRST_LAYOUT else self.layout
        return tuple(Column(each.name, each.type, each.meaning, added) for each in self.columns)


def messages(condition: str) -> str:
    """The number of messages that meet a condition on entries."""
    return f"sum(if({condition}, messages, 0))"


def message_bytes(condition: str) -> str:
    """The bytes of the messages that meet a condition on entries."""
    return f"sum(if({condition}, bytes, 0))"


def tokens(condition: str) -> str:
    """The base tokens in created outputs that meet a condition on entries. Null if they exceed 64 bits."""
    return f"try_cast(coalesce(try_sum(if({condition}, amount, NULL)), 0) AS BIGINT)"


def added(condition: str, value: str) -> str:
    """What changes that meet a condition add to a total: a created output its value, a spent one minus its value.

    An output counts until it is spent, also when it has expired.
    """
    return f"sum(CAST(if({condition}, if(is_spent, -({value}), {value}), 0) AS BIGINT))"


def count_and_amount(name: str, condition: str, outputs: str) -> tuple[MeasureColumn, MeasureColumn]:
    """NAME_count and NAME_amount: unspent outputs that meet a condition, and the base tokens in them."""
    return (
        MeasureColumn(f"{name}_count", Type.BIGINT, outputs, added(condition, "1")),
        MeasureColumn(f"{name}_amount", Type.BIGINT, f"base tokens in {outputs}", added(condition, "amount")),
    )


def is_type(*numbers: int) -> str:
    """Whether an output is of one of these output types."""
    return f"output_type IN ({', '.join(map(str, numbers))})"
