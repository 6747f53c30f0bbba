"""Compares the hints of a batch with its lookup rows, as both were handed to the store.

Each partition that got rows has its hint, and no other hint was written. Nothing of the engine computes the partitions.
The same holds for the other tables that list what is in a table: emitters and ranges of sequences.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from db import schema
from db.model import Lookup, Table
from db.roles import ADDRESS
from db.schema.protocols import LOOKUPS
from db.schema.wormhole_tables import emitters, sequence_hints, vaas
from etl.expectations.fingerprints import Fingerprint
from etl.expectations.words import Words, distinct, row_hashes, words

_WRITTEN_LATER = {"sent", "spent_milestone_index"}
"""Columns of lookups that only later frames write. A frame without any other column follows rows that have hints."""


@dataclass(frozen=True)
class HintRule:
    """How a row of a table becomes a hint.

    Attributes:
        hints: the hint table.
        columns: pairs of the hint's column and the row's column.
        constants: the hint's other columns.
    """

    hints: Table
    columns: tuple[tuple[str, str], ...]
    constants: Mapping[str, str | bool | int] = field(default_factory=dict)

    def hashes(self, arrays: Mapping[str, pa.Array], known: Mapping[str, Words], count: int) -> Words:
        """Returns the hashes of the hints of these rows, each once. `known`: words of columns."""
        hint: dict[str, Words | np.uint64] = {name: words(pa.array([it]))[0] for name, it in self.constants.items()}
        hint |= {name: known[own] if own in known else words(arrays[own]) for name, own in self.columns}
        return distinct(row_hashes(hint, tuple(hint), count))


def _rule(lookup: Lookup) -> HintRule:
    return HintRule(lookup.hints, lookup.hint_columns, dict(lookup.hint_constants))


def _itself(hints: Table) -> HintRule:
    return HintRule(hints, tuple((name, name) for name in hints.key))


_OF_BALANCES = HintRule(
    schema.addresses_hints,
    (("address", "address"), ("ms_range_id", "ms_range_id")),
    {"output_kind": "balance", "variant": ADDRESS, "included": True, "partition_id": 0},
)
_OF_MOVEMENTS = HintRule(
    schema.addresses_hints,
    tuple((name, name) for name in schema.address_movements.partition),
    {"output_kind": "movement", "variant": ADDRESS, "included": True},
)
_LED_TO: dict[Table, tuple[HintRule, ...]] = {lookup.table: (_rule(lookup),) for lookup in LOOKUPS} | {
    schema.address_balances: (_OF_BALANCES,),
    schema.address_movements: (_OF_MOVEMENTS,),
    schema.pending: (_itself(schema.pending_hints),),
    vaas: (_itself(emitters), _itself(sequence_hints)),
}
_ARE_HINTS: dict[Table, HintRule] = {rule.hints: _itself(rule.hints) for rules in _LED_TO.values() for rule in rules}


@dataclass
class HintKeys:
    """The hints that the rows of one frame are, or lead to.

    Attributes:
        rule: how rows become hints.
        hashes: arrays of hashes of hints, one for each batch of rows.
    """

    rule: HintRule
    hashes: list[Words] = field(default_factory=list)

    def add(self, arrays: Mapping[str, pa.Array], known: Mapping[str, Words], count: int) -> None:
        """Adds a batch of rows, given by its columns and the words of some of them."""
        self.hashes.append(self.rule.hashes(arrays, known, count))


def keys_of(table: Table, columns: Collection[str]) -> list[HintKeys]:
    """Returns empty HintKeys for a frame with these columns. Empty: it neither contains hints nor leads to them."""
    if table in _ARE_HINTS:
        return [HintKeys(_ARE_HINTS[table])]
    is_whole = not {*table.names} - {*columns} - _WRITTEN_LATER
    return [HintKeys(rule) for rule in _LED_TO.get(table, ()) if is_whole]


@dataclass
class HintSums:
    """The hints of one batch of a store, by hint table: those that its lookup rows lead to, and those written."""

    led_to: dict[Table, list[Words]] = field(default_factory=lambda: defaultdict(list))
    written: dict[Table, list[Words]] = field(default_factory=lambda: defaultdict(list))

    def add(self, table: Table, keys: Sequence[HintKeys]) -> None:
        """Adds a written frame."""
        sums = self.written if table in _ARE_HINTS else self.led_to
        for each in keys:
            sums[each.rule.hints] += each.hashes

    def differing(self) -> tuple[str, Fingerprint, Fingerprint] | None:
        """The first hint table that differs: its name, the expected and the written hints."""
        for table in (*self.led_to, *self.written):
            expected, found = (_fingerprint(each.get(table, ())) for each in (self.led_to, self.written))
            if expected != found:
                return table.name, expected, found
        return None


def _fingerprint(hashes: Sequence[Words]) -> Fingerprint:
    """Distinct hints, and the sum of their hashes."""
    if not hashes:
        return Fingerprint()
    found = distinct(np.concatenate(hashes))
    return Fingerprint(len(found), 0, int(found.sum(dtype=np.uint64)))
