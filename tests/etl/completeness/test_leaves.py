"""Leaves as Arrow tables, compared with lists of the same leaves."""

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from etl.completeness.leaves import LEAVES, Shared, in_groups, leaves_of, merged, packed, with_between
from etl.completeness.trees import read_leaves, write_tree
from ledger.completeness.families import milestone_of
from ledger.completeness.intervals import Interval
from ledger.completeness.trees import Leaves, hash_rows, merge_leaves, record_of
from ledger.crypto.log_tree import packed_root, tree_root
from tests.ledger.completeness.ledgers import random_rows

PLACE_OF_UPDATES = b"\x70"


def flat(rows: dict[bytes, list[bytes]]) -> pa.Table:
    pairs = sorted((place, row) for place, of_place in rows.items() for row in of_place)
    places, ids = ([pair[at] for pair in pairs] for at in (0, 1))
    return pa.table({"place": pa.array(places, pa.binary()), "row": pa.array(ids, pa.binary())})


def inside(rows: dict[bytes, list[bytes]], number: int) -> dict[bytes, list[bytes]]:
    found = {place: [row for row in of_place if milestone_of(row) // 100 == number] for place, of_place in rows.items()}
    return {place: of_place for place, of_place in found.items() if of_place}


def same(table: pa.Table, leaves: Leaves) -> bool:
    encoded = [leaves[index].encode() for index in range(len(leaves))]
    columns = (leaves.places, encoded, leaves.hashes)
    return [table[name].to_pylist() for name in LEAVES.names] == [*map(list, columns)]


@pytest.mark.parametrize("seed", range(20))
def test_leaves_are_those_of_the_rows_and_of_smaller_intervals(seed: int) -> None:
    rng = Random(seed)
    rows = random_rows(rng, 399, keys=30)
    tables, expected = [], []
    for number in range(4):
        own = inside(rows, number)
        table, leaves = leaves_of(flat(own)), hash_rows(own)
        assert same(table, leaves)
        tables.append((number, table))
        expected.append((number, leaves))
    shared: list[Shared] = []
    streams = [(number, in_groups([table], rng.randint(1, 9))) for number, table in tables]
    whole = pa.concat_tables([LEAVES.empty_table(), *merged(0, streams, shared)])
    wanted = merge_leaves(0, expected)
    assert same(whole, wanted)
    several = [place for place in wanted.places if sum(place in leaves.places for _, leaves in expected) > 1]
    assert [each.place for each in shared] == several
    assert [each.count for each in shared] == [len(rows[place]) for place in several]
    assert packed_root(packed(whole["hash"])) == tree_root(wanted.hashes)


def test_rows_of_one_family_are_put_between_others() -> None:
    rows = random_rows(Random(5), 99, keys=60)
    updates = {place: each for place, each in rows.items() if place[:1] == PLACE_OF_UPDATES}
    others = {place: each for place, each in rows.items() if place not in updates}
    assert updates
    assert same(with_between(leaves_of(flat(others)), leaves_of(flat(updates))), hash_rows(rows))
    assert same(with_between(leaves_of(flat({})), leaves_of(flat(updates))), hash_rows(updates))


def test_a_written_tree_has_the_record_of_its_leaves(tmp_path: Path) -> None:
    leaves = leaves_of(flat({bytes([2]) + bytes([a, b]) * 16: [bytes(36)] for a in range(40) for b in range(40)}))
    tree = write_tree(Interval(0, 3), in_groups([leaves], 100), tmp_path / "tree")
    assert pa.concat_tables(read_leaves(tmp_path / "tree")) == leaves
    rows = {place: [bytes(36)] for place in leaves["place"].to_pylist()}
    assert tree.record == record_of(Interval(0, 3), hash_rows(rows))
