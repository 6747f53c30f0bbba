"""The measures of a series: columns of the tables, and values derived from them and from the protocol parameters.

A measure is a function of a row of its columns, for a milestone, an hour or a day. Values that depend on protocol
parameters use those of the last milestone of the span. A measure is None if its value is unknown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from db import schema
from db.queries.series import OF_DAYS, OF_HOURS, OF_MILESTONES, TREASURY
from db.roles import KINDS
from db.store import Row
from ledger.stardust.protocol_parameters import ProtocolParameters

AMOUNTS = ("_tokens", "_amount", "_owed")
"""Suffixes of columns that contain base tokens."""

ReadValue: TypeAlias = Callable[[Row, ProtocolParameters | None], int | None]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure. `is_amount`: base tokens, written as text. `needs_parameters`: needs the protocol parameters at
    `milestone_index`.
    """

    columns: tuple[str, ...]
    meaning: str
    read_value: ReadValue
    is_amount: bool = False
    needs_parameters: bool = False


Measures: TypeAlias = Mapping[str, Measure]
"""Name in the API → measure."""


def wire_name(column: str) -> str:
    """Returns a column name in camel case."""
    head, *rest = column.split("_")
    return head + "".join(word.capitalize() for word in rest)


def of_column(column: str) -> Measure:
    """Returns the measure of a column of ms_analytics or daily_analytics."""
    table = schema.ms_analytics if column in schema.ms_analytics.names else schema.daily_analytics
    return Measure(
        (column,), table.column(column).meaning, lambda row, _: row[column], is_amount=column.endswith(AMOUNTS)
    )


def of_parameters(name: str, meaning: str, *, is_amount: bool = False) -> Measure:
    """Returns the measure of a protocol parameter."""
    return Measure(
        ("milestone_index",),
        f"{meaning}, by the protocol parameters that hold at the milestone, or the last of them",
        lambda _, parameters: None if parameters is None else getattr(parameters, name),
        is_amount=is_amount,
        needs_parameters=True,
    )


BOOKED = tuple(f"{kind}_created_amount" for kind in KINDS)


def booked(row: Row, _: ProtocolParameters | None) -> int | None:
    """Base tokens of all outputs created."""
    amounts: list[int | None] = [row[name] for name in BOOKED]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def byte_cost(row: Row, parameters: ProtocolParameters | None) -> int | None:
    """Base tokens that all unspent Stardust outputs must hold for their bytes (TIP-19)."""
    if parameters is None or None in (row["key_bytes"], row["data_bytes"]):
        return None
    key_bytes: int = row["key_bytes"] * parameters.v_byte_factor_key
    data_bytes: int = row["data_bytes"] * parameters.v_byte_factor_data
    return parameters.v_byte_cost * (key_bytes + data_bytes)


def treasury_amount(row: Row, _: ProtocolParameters | None) -> int | None:
    """Base tokens left for migration at the ledger state of the row."""
    amount: int | None = row[TREASURY]
    return None if row["holders"] is None else amount


def treasury_count(row: Row, _: ProtocolParameters | None) -> int | None:
    """1 if there is a treasury, else 0."""
    return None if row["holders"] is None else int(row[TREASURY] is not None)


DERIVED: Measures = {
    "bookedAmount": Measure(BOOKED, "base tokens of all outputs created, of any kind", booked, is_amount=True),
    "byteCost": Measure(
        ("milestone_index", "key_bytes", "data_bytes"),
        "base tokens that unspent Stardust outputs have to hold for their bytes, by the protocol parameters that hold "
        "at the milestone, or the last of them",
        byte_cost,
        is_amount=True,
        needs_parameters=True,
    ),
    "treasuryCount": Measure(("holders", TREASURY), "unspent treasury outputs", treasury_count),
    "treasuryAmount": Measure(("holders", TREASURY), "base tokens in the treasury", treasury_amount, is_amount=True),
    "protocolVersion": of_parameters("version", "version of the protocol"),
    "minPowScore": of_parameters("min_pow_score", "proof of work that a block needs"),
    "belowMaxDepth": of_parameters("below_max_depth", "depth below which tips are not attached to"),
    "vByteCost": of_parameters("v_byte_cost", "base tokens that a virtual byte costs"),
    "vByteFactorKey": of_parameters("v_byte_factor_key", "virtual bytes of a byte of key"),
    "vByteFactorData": of_parameters("v_byte_factor_data", "virtual bytes of a byte of data"),
    "tokenSupply": of_parameters("token_supply", "base tokens that there are", is_amount=True),
}
"""Measures that are not columns."""


def of_columns(*columns: str) -> Measures:
    """Returns the measures of these columns, and DERIVED, each once."""
    return {wire_name(column): of_column(column) for column in columns} | dict(DERIVED)


MILESTONE_MEASURES = of_columns(*OF_MILESTONES)
HOUR_MEASURES = of_columns(*OF_HOURS)
DAY_MEASURES = of_columns(*OF_DAYS, *OF_HOURS)


def columns_of(measures: Measures) -> tuple[str, ...]:
    """Returns the columns that these measures need, each once."""
    return tuple(dict.fromkeys(column for measure in measures.values() for column in measure.columns))
