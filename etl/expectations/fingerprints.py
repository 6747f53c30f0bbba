"""What is compared: for each frame of rows its number of rows, the sum of its amounts, and the sum of its row hashes.

A sum of hashes does not depend on the order of rows, and fingerprints of parts add up to that of the whole.
"""

from collections.abc import Collection
from dataclasses import dataclass

from db import schema
from db.model import Table
from db.roles import ALL
from db.schema import wormhole_tables

PLACED = ("ms_range_id", "partition_id", "network")
"""Columns that follow from the store's settings and splits, not from a message. They are not part of a hash."""


@dataclass(frozen=True)
class Rows:
    """A frame that follows from messages: one for each table, or for the columns of a table that a frame writes.

    Attributes:
        name: unique, for errors.
        table: the table of the rows.
        columns: the columns that are hashed.
        amount: the column whose sum is compared.
        only: a written column that distinguishes the frame from others of the table.
        where: a column and its value in the rows that count. Default: all rows.
    """

    name: str
    table: Table
    columns: tuple[str, ...]
    amount: str | None = None
    only: str | None = None
    where: tuple[str, str] | None = None


@dataclass(frozen=True)
class Fingerprint:
    """Rows, the sum of their amounts and the sum of their hashes, the sums modulo 2^64."""

    rows: int = 0
    amount: int = 0
    hashes: int = 0

    def __add__(self, other: "Fingerprint") -> "Fingerprint":
        return Fingerprint(
            self.rows + other.rows, (self.amount + other.amount) % 2**64, (self.hashes + other.hashes) % 2**64
        )

    def __sub__(self, other: "Fingerprint") -> "Fingerprint":
        return Fingerprint(
            self.rows - other.rows, (self.amount - other.amount) % 2**64, (self.hashes - other.hashes) % 2**64
        )

    def __str__(self) -> str:
        return f"{self.rows:,} rows, amounts {self.amount:,}, hash {self.hashes:016x}"


def _of(table: Table, amount: str | None = None, *, without: Collection[str] = ()) -> Rows:
    columns = tuple(name for name in table.names if name not in PLACED and name not in without)
    return Rows(table.name, table, columns, amount)


def _part(name: str, table: Table, prefix: str, *more: str, amount: str | None = None) -> Rows:
    columns = tuple(each for each in table.names if each.startswith(prefix))
    return Rows(name, table, (*table.key, *columns, *more), amount, columns[0])


FRAMES: tuple[Rows, ...] = (
    Rows(
        "messages",
        schema.messages,
        tuple(name for name in schema.messages.names if name != "conflict_reason"),
        only="message",
    ),
    _part("messages (conflict reasons)", schema.messages, "conflict_reason"),
    _of(schema.messages_by_milestone),
    _of(schema.parents),
    _of(schema.tags),
    _of(schema.transactions),
    _of(schema.transactions_by_state),
    _part("outputs (created)", schema.outputs, "created_", "output_kind", "address", "amount", "data", amount="amount"),
    _part("outputs (spent)", schema.outputs, "spent_"),
    *(
        _of(table, "amount")
        for table in (
            schema.outputs_by_address,
            schema.outputs_by_tag,
            schema.alias_outputs,
            schema.nft_outputs,
            schema.foundry_outputs,
        )
    ),
    _of(schema.transactions_by_address, "received", without=["sent"]),
    _of(schema.ids_by_prefix),
    _of(schema.milestones),
    _of(schema.milestone_ids),
    _of(schema.receipts),
    _of(schema.treasury, "amount"),
    _of(schema.protocol_parameters),
    _of(schema.sync, without=["logged_by"]),
)
"""The frames of a load that follow from its messages alone."""

_CHANGE = ("milestone_index", "output_id", "is_spent")

LEDGER_FRAMES: tuple[Rows, ...] = (
    Rows(
        "ledger_updates_by_milestone",
        schema.ledger_updates_by_milestone,
        (*_CHANGE, "white_flag_index", "idx"),
        "amount",
    ),
    Rows(
        "ledger_updates_by_address",
        schema.ledger_updates_by_address,
        (*_CHANGE, "message_id", "transaction_id", "ms_timestamp"),
        "amount",
    ),
    Rows("unspent_outputs", schema.unspent_outputs, ("output_id",), only="output_type", where=("lookup", ALL)),
    Rows("unspent_outputs (spent)", schema.unspent_outputs, ("output_id",), where=("lookup", ALL)),
)
"""The frames of the ledger state that follow from messages, as far as they do: owners and the amounts of single spent
outputs follow from earlier milestones. A transaction spends as much as it creates, which gives the sum of amounts.
"""

NETTED = tuple(each.name for each in LEDGER_FRAMES if each.where is not None)
"""Of these two frames only the difference is compared."""

BALANCES = Rows(
    "address_balances", schema.address_balances, ("address", "milestone_index", "balance", "unspent_count"), "balance"
)
"""Follows from the changes of the ledger (etl.expectations.balances)."""

NATIVE_TOKENS = _of(schema.native_token_updates)
"""Follows from the changes of the ledger (etl.expectations.native_tokens)."""

MOVEMENTS = _of(schema.address_movements, "amount", without=["counterparties"])
"""Follows from the changes of the ledger (etl.expectations.movements)."""

ACTIVITY = Rows(
    "ms_analytics",
    schema.ms_analytics,
    (
        "milestone_index",
        "ms_timestamp",
        "message_count",
        "transaction_count",
        "conflicting_count",
        "no_transaction_count",
        "transaction_payload_count",
        "treasury_transaction_payload_count",
        "milestone_payload_count",
        "tagged_data_payload_count",
        "no_payload_count",
    ),
    "transferred_tokens",
)
DAYS = Rows(
    "daily_analytics",
    schema.daily_analytics,
    (
        "date",
        "milestone_count",
        "message_count",
        "transaction_count",
        "conflicting_count",
        "transaction_payload_count",
    ),
)
"""The analytics that follow from messages (etl.expectations.activity)."""

ASSEMBLED = tuple(
    _of(table, without=["day_range"])
    for table in (
        wormhole_tables.vaas,
        wormhole_tables.vaa_signatures,
        wormhole_tables.vaa_states,
        wormhole_tables.vaa_payloads,
        wormhole_tables.vaa_lookups,
    )
)
"""The frames of a Wormhole load that follow from single messages."""

ALL_FRAMES = (*FRAMES, *LEDGER_FRAMES, BALANCES, NATIVE_TOKENS, MOVEMENTS, ACTIVITY, DAYS, *ASSEMBLED)

BY_MILESTONE = (*FRAMES, *LEDGER_FRAMES)
"""The frames whose sums are known for each milestone of decoded messages."""

POSITION = {each.name: number for number, each in enumerate(BY_MILESTONE)}


def frame_of(table: Table, columns: Collection[str]) -> Rows | None:
    """Returns the entry of ALL_FRAMES for a frame with these written columns. None: the frame is not compared."""
    for each in ALL_FRAMES:
        if each.table is table and (each.only is None or each.only in columns) and set(each.columns) <= {*columns}:
            return each
    return None
