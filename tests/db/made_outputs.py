"""Generated outputs for the tests of lookups, inserted row by row, and selected with a plain filter.

This module writes out which lookups each kind has, as in the Stardust schema plan (plus what the plan is missing). It
uses nothing of db/roles.py or etl/. Splits are arbitrary, because any splits must give the same listings.
"""

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from db import schema
from db.partitions import place
from db.store import WritableStore
from tests.db.stores import CHUNK_SIZE

LAST = 30
"""Milestones are 0…LAST; 0 is genesis."""

VIEWS = {
    "legacy": ("address",),
    "basic": ("address", "sender", "storage_deposit_return", "expiration_return", "tag"),
    "alias": ("sender", "issuer", "state_controller", "governor", "chain"),
    "foundry": ("address", "chain"),
    "nft": ("address", "storage_deposit_return", "sender", "issuer", "expiration_return", "tag", "chain"),
}
TYPES = {"legacy": 0, "basic": 3, "alias": 4, "foundry": 5, "nft": 6}
STATES = {"alias": schema.alias_outputs, "foundry": schema.foundry_outputs, "nft": schema.nft_outputs}
CHAIN_BYTES = {"alias": 32, "foundry": 38, "nft": 32}


@dataclass(frozen=True)
class Made:
    """An output: its key in each lookup, and the other columns of its rows."""

    kind: str
    milestone: int
    position: int
    output_id: bytes
    keys: dict[str, bytes]
    spent: int | None = None
    filter_values: dict[str, Any] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        """Columns of all its rows beside the keys. The sender and some others are columns as well as keys."""
        known = {name: value for name, value in self.keys.items() if name not in ("address", "chain")}
        return known | self.filter_values | {"output_type": TYPES[self.kind], "ms_timestamp": 1_000 * self.milestone}


class Keys:
    """Addresses, tags and chain ids of one example; no other example has them."""

    def __init__(self, number: int) -> None:
        self._number = number

    def key(self, kind: str, view: str, which: int) -> bytes:
        """One of a few values of a kind."""
        sort = f"{kind} chain" if view == "chain" else "tag" if view == "tag" else "address"
        digest = hashlib.blake2b(f"{self._number} {sort} {which}".encode(), digest_size=32).digest()
        if view == "tag":
            return digest[:5]
        return (digest * 2)[: CHAIN_BYTES[kind]] if view == "chain" else b"\x00" + digest


@st.composite
def made_outputs(draw: st.DrawFn, keys: Keys, first: int = 1, most: int = 30) -> list[Made]:
    """Outputs of every kind in milestones from `first` on, with few owners; some are spent."""
    found = []
    for number in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(sorted(VIEWS)))
        own = {view: draw(st.none() | st.integers(0, 1)) for view in VIEWS[kind]}
        milestone = draw(st.integers(first, LAST))
        output_id = hashlib.blake2b(f"{keys._number} {number}".encode(), digest_size=34).digest()
        found.append(
            Made(
                kind,
                milestone,
                number,
                output_id,
                {view: keys.key(kind, view, which) for view, which in own.items() if which is not None},
                draw(st.none() | st.integers(milestone, LAST)),
                {"native_tokens": draw(st.integers(0, 2))},
            )
        )
    return found


def put_made(store: WritableStore, made: Iterable[Made], seed: int, genesis: int = -1) -> None:
    """All their rows and hints, cut at arbitrary splits; rows of `outputs` have only the columns that apply."""
    chance, firsts = random.Random(seed), defaultdict[Any, list[int]](list)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    hints: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = defaultdict(dict)

    def put(table: str, key: dict[str, Any], hint_table: str, hint: dict[str, Any], row: dict[str, Any]) -> None:
        at = (table, *key.values())
        if at not in firsts:
            firsts[at] = [0, *sorted(chance.sample(range(1, LAST + 1), chance.randint(0, 6)))]
        milestone = row["milestone_index"]
        of_range = [each for each in firsts[at][1:] if each // CHUNK_SIZE == milestone // CHUNK_SIZE]
        location = {"ms_range_id": milestone // CHUNK_SIZE, "partition_id": place(of_range, milestone)}
        rows[table].append(row | key | location)
        hints[hint_table][(*hint.values(), *location.values())] = hint | location

    for each in made:
        row = {"milestone_index": each.milestone, "output_id": each.output_id} | each.columns()
        unspent = row | ({} if each.spent is None else {"spent_milestone_index": each.spent})
        for view, key in each.keys.items():
            under = {"lookup": view, "output_kind": each.kind, "key": key.hex()}
            put("unspent_outputs", under, "unspent_hints", under, unspent)
            if view == "chain":
                hint = {"address": key, "output_kind": "chain", "variant": each.kind, "included": True}
                state = row | {"white_flag_index": each.position}
                put(STATES[each.kind].name, {"chain_id": key}, "addresses_hints", hint, state)
            elif view == "tag":
                hint = {"tag": key, "table_kind": each.kind}
                put(
                    "outputs_by_tag",
                    {"tag": key, "output_kind": each.kind},
                    "tag_hints",
                    hint,
                    row | {"included": True, "message_id": each.output_id[:32]},
                )
            else:
                under = {"address": key, "output_kind": each.kind, "variant": view, "included": True}
                put("outputs_by_address", under, "addresses_hints", under, row | {"message_id": each.output_id[:32]})
        byte = each.output_id[:1].hex() if each.milestone == genesis else ""
        if byte:
            firsts["unspent_outputs", "", each.kind, byte] = [0]
        under = {"lookup": "", "output_kind": each.kind, "key": byte}
        put("unspent_outputs", under, "unspent_hints", under, unspent)
        created = {"created_milestone_index": each.milestone, "created_message_id": each.output_id[:32]}
        output = {"output_id": each.output_id} | created
        rows["outputs"].append(output | ({} if each.spent is None else {"spent_milestone_index": each.spent}))
    for name, members in hints.items():
        rows[name] += members.values()
    with store.batch() as batch:
        for name, found in rows.items():
            for row in found:
                batch.upsert(schema.BY_NAME[name], tuple(row), [tuple(row.values())])


def ids_in_order(made: Iterable[Made], *, newest: bool) -> list[str]:
    """Their ids in the order of listings, each once."""
    ordered = sorted({(each.milestone, each.output_id) for each in made}, reverse=newest)
    return [output_id.hex() for _, output_id in ordered]


def under(made: Sequence[Made], requested: Iterable[tuple[str, bytes]], kinds: Iterable[str] = VIEWS) -> list[Made]:
    """Outputs of those kinds that have any of these keys in the view given with the key."""
    wanted = list(requested)
    return [each for each in made if each.kind in kinds and any(each.keys.get(view) == key for view, key in wanted)]
