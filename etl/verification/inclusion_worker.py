"""Python worker with ordered input: takes milestones with unproved inclusion states, returns those that the ledger
determines.

One process takes these milestones in order, with one of them in memory at a time. It keeps their changes on disk,
because later milestones may spend them. The result for a milestone counts only if it gives the Merkle root.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from etl.ledger_state.conflict_worker import facts_of, spent_of
from etl.sources.cone import CONFLICTING, INCLUDED
from etl.verification.milestone_checks import applied_root
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis import conflicts
from ledger.chrysalis.conflicts import dust_changes
from ledger.chrysalis.dust import NO_DUST, Dust
from ledger.crypto.merkle import merkle_root
from ledger.eras import STARDUST
from ledger.inputs import Applied, OutputFacts, Position
from ledger.stardust import codec as stardust
from ledger.stardust import conflicts as stardust_conflicts

LEGACY = (chrysalis.SigLockedSingle, chrysalis.SigLockedDustAllowance)
LEGACY_KINDS = frozenset(kind.KIND for kind in LEGACY)

DECIDED_DDL = "milestone_index INT, message_id BINARY, inclusion_state TINYINT"
DECIDED = pa.schema({"milestone_index": pa.int32(), "message_id": pa.binary(), "inclusion_state": pa.int8()})
"""A transaction of a milestone whose Merkle root proves its state."""

Row: TypeAlias = dict[str, Any]
Facts: TypeAlias = OutputFacts[Any] | None


def decide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields DECIDED for rows in order: for each transaction its position, `message`, `inputs` (output ids), the
    `known` facts about them and the `dust` of the addresses that it changes, then the milestone's own `payload`.
    """
    rows = (row for batch in batches for row in batch.to_pylist())
    with closing(Changes()) as changes:
        for milestone_index, members in groupby(rows, itemgetter("milestone_index")):
            *spending, last = members
            if last["payload"] is None:
                continue
            decided = _decide(milestone_index, spending, last, changes)
            columns = list(zip(*decided, strict=True))
            if columns:
                arrays = [pa.array(column, field.type) for column, field in zip(columns, DECIDED, strict=True)]
                yield pa.record_batch(arrays, schema=DECIDED)


def _decide(milestone_index: int, rows: Sequence[Row], last: Row, changes: "Changes") -> list[tuple[int, bytes, int]]:
    """DECIDED of one milestone; empty if its Merkle root contradicts the result."""
    known: dict[bytes, Row] = {}
    dust: dict[bytes, Dust] = {}
    for row in rows:
        known |= zip(row["inputs"], row["known"], strict=True)
        dust |= {each["address"]: Dust(each["dust_allowance"], each["dust_outputs"]) for each in row["dust"] or ()}

    def resolve(output_id: bytes) -> Facts:
        return changes.facts(output_id, known[output_id])

    def dust_before(address: bytes) -> Dust:
        return dust.get(address, NO_DUST) + changes.dust(address)

    milestone: Any
    verdicts: list[Applied[Any]]
    if last["version"] == STARDUST.protocol_version:
        milestone = stardust.decode_payload(last["payload"])
        blocks: list[Any] = [(row["message_id"], stardust.decode_block(row["message"]).payload) for row in rows]
        verdicts = list(stardust_conflicts.apply(milestone_index, milestone.timestamp, blocks, resolve))
    else:
        milestone = chrysalis.decode_payload(last["payload"])
        messages: list[Any] = [(row["message_id"], chrysalis.decode_message(row["message"]).payload) for row in rows]
        verdicts = list(conflicts.apply(milestone_index, messages, resolve, dust_before))
    included = [each.message_id for each in verdicts if not each.conflict]
    if merkle_root(included) != applied_root(milestone):
        return []
    for each, row in zip(verdicts, rows, strict=True):
        if not each.conflict:
            changes.add(each, (milestone_index, row["white_flag_index"]))
    return [(milestone_index, each.message_id, CONFLICTING if each.conflict else INCLUDED) for each in verdicts]


class Changes:
    """The changes of the processed milestones to outputs and to the dust of addresses, in a temporary database on
    disk.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(
            """
            PRAGMA synchronous = OFF;
            PRAGMA journal_mode = OFF;
            CREATE TABLE created (output_id BLOB PRIMARY KEY, data BLOB, milestone INT, place INT) WITHOUT ROWID;
            CREATE TABLE spent (output_id BLOB PRIMARY KEY, milestone INT, place INT) WITHOUT ROWID;
            CREATE TABLE dust (address BLOB PRIMARY KEY, allowance INT, outputs INT) WITHOUT ROWID;
            """
        )

    def close(self) -> None:
        """Deletes the database."""
        self._database.close()

    def facts(self, output_id: bytes, known: Row) -> Facts:
        """An output after these changes. `known` (etl.ledger_state.conflict_reasons.FACTS) is its state without them,
        with the spender in proved milestones even if the output was created here.
        """
        facts, spent = facts_of(known), spent_of(known)
        row = self._one("SELECT data, milestone, place FROM created WHERE output_id = ?", output_id)
        if row is not None:
            facts = OutputFacts(_decode_output(row[0]), (row[1], row[2]))
        if facts is None:
            return None
        here = self._one("SELECT milestone, place FROM spent WHERE output_id = ?", output_id)
        return OutputFacts(facts.output, facts.created, min(filter(None, (spent, here)), default=None))

    def dust(self, address: bytes) -> Dust:
        """The changes to the dust of an address."""
        row = self._one("SELECT allowance, outputs FROM dust WHERE address = ?", address)
        return NO_DUST if row is None else Dust(*row)

    def add(self, applied: Applied[Any], place: Position) -> None:
        """Adds the changes of a transaction."""
        self._database.executemany(
            "INSERT OR IGNORE INTO created VALUES (?, ?, ?, ?)",
            [(output_id, _encode_output(output), *place) for output_id, output in applied.created],
        )
        self._database.executemany(
            "INSERT OR IGNORE INTO spent VALUES (?, ?, ?)", [(output_id, *place) for output_id, _ in applied.spent]
        )
        spent, created = ([each for _, each in pairs if _is_legacy(each)] for pairs in (applied.spent, applied.created))
        for address, change in dust_changes(spent, created).items():
            after = self.dust(address) + change
            row = (address, after.allowance, after.outputs)
            self._database.execute("INSERT OR REPLACE INTO dust VALUES (?, ?, ?)", row)

    def _one(self, sql: str, key: bytes) -> Any:
        return self._database.execute(sql, (key,)).fetchone()


def _is_legacy(output: Any) -> bool:
    return isinstance(output, LEGACY)


def _encode_output(output: Any) -> bytes:
    return chrysalis.encode_output(output) if _is_legacy(output) else stardust.encode_output(output)


def _decode_output(data: bytes) -> Any:
    return chrysalis.decode_output(data) if data[0] in LEGACY_KINDS else stardust.decode_output(data)
